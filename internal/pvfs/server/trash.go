package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Objects to be removed from other servers are recorded in the transaction that makes them useless. They are removed in the
// background soon after, because users who remove a large file expect the space to become free. The key of a record has the
// object's handle. The value is the directory where the object had a name, in eight bytes; or one byte, followed for a datafile
// by its metafile.
const (
	trashPrefix = "trash/"
	trashPause  = 20 * time.Millisecond // between two rounds, so that one request has many objects
	trashBatch  = proto.MetafilesMax    // objects of one round
)

// trash wakes the goroutines that remove the objects, one for each server. The zero value is ready.
type trash struct {
	mu      sync.Mutex
	signals map[int]chan struct{}
}

// signal is the channel on which the goroutine for a server waits.
func (t *trash) signal(server int) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.signals == nil {
		t.signals = map[int]chan struct{}{}
	}
	if t.signals[server] == nil {
		t.signals[server] = make(chan struct{}, 1)
	}
	return t.signals[server]
}

// wake is called after a commit with throwAway or leave.
func (t *trash) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, signal := range t.signals {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
}

// throwAway records in a transaction that objects are to be removed, here or on other servers.
func (s *Server) throwAway(tx *store.Tx, handles []proto.Handle) error {
	for _, h := range handles {
		if err := tx.SetRecord(trashKey(h), []byte{1}); err != nil {
			return err
		}
	}
	return nil
}

// throwAwayOf is throwAway for datafiles of a metafile.
func (s *Server) throwAwayOf(tx *store.Tx, metafile proto.Handle, datafiles []proto.Handle) error {
	for _, h := range datafiles {
		if err := tx.SetRecord(trashKey(h), binary.BigEndian.AppendUint64([]byte{1}, uint64(metafile))); err != nil {
			return err
		}
	}
	return nil
}

// leave records in a transaction that an object of another server lost its name in a directory here. The object is removed by the
// right to remove from that directory.
func (s *Server) leave(tx *store.Tx, h, dir proto.Handle) error {
	return tx.SetRecord(trashKey(h), binary.BigEndian.AppendUint64(nil, uint64(dir)))
}

func trashKey(h proto.Handle) string { return fmt.Sprintf("%s%016x", trashPrefix, uint64(h)) }

// dirOf is the directory in a record; 0 if there is none.
func dirOf(value []byte) proto.Handle {
	if len(value) != 8 {
		return 0
	}
	return proto.Handle(binary.BigEndian.Uint64(value))
}

// metafileOf is the metafile in a record; 0 if there is none.
func metafileOf(value []byte) proto.Handle {
	if len(value) != 9 {
		return 0
	}
	return proto.Handle(binary.BigEndian.Uint64(value[1:]))
}

// emptyTrash removes recorded objects until the server stops. Each server has a goroutine of its own, so that none is delayed by
// another that is down.
func (s *Server) emptyTrash() {
	if !s.keepTrying(s.forgetStray) {
		return
	}
	var all sync.WaitGroup
	for server := range s.fs.Servers {
		signal := s.trash.signal(server)
		all.Go(func() {
			for s.keepTrying(func() error { return s.removeTrash(server) }) && pause(s.ctx, trashPause) {
				select {
				case <-signal:
				case <-s.ctx.Done():
					return
				}
			}
		})
	}
	all.Wait()
}

// forgetStray deletes records of objects that no server owns, because the configuration was changed.
func (s *Server) forgetStray() error {
	var stray []string
	if err := s.store.View(func(tx *store.Tx) error {
		stray = nil
		for key := range tx.Records(trashPrefix) {
			if _, ok := s.fs.Owner(handleOf(key, trashPrefix)); !ok {
				stray = append(stray, key)
			}
		}
		return nil
	}); err != nil || len(stray) == 0 {
		return err
	}
	s.log.Warn("objects to be removed belong to no server", "count", len(stray))
	return s.store.Update(func(tx *store.Tx) error {
		for _, key := range stray {
			if err := tx.SetRecord(key, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// An errand is one request to a server to remove objects.
type errand struct {
	to        int
	dir       proto.Handle // directory where they had names, see leave; 0: none
	handles   []proto.Handle
	metafiles []proto.Handle // of datafiles; 0 if not known
}

var errNotRemoved = errors.New("internal/pvfs/server: objects are not removed yet")

// removeTrash tries once to remove all recorded objects of a server.
func (s *Server) removeTrash(server int) error {
	var failed error
	refused := map[proto.Handle]bool{}
	ours := sync.OnceValues(func() (bool, error) { return s.askKind(s.ctx, server) })
	for {
		errands, err := s.errands(server, refused)
		if err != nil {
			return err
		}
		if len(errands) == 0 {
			return failed
		}
		for _, e := range errands {
			left, err := s.carryOut(e, ours)
			if err != nil {
				return err
			}
			for _, h := range left {
				refused[h], failed = true, errNotRemoved
			}
		}
	}
}

// errands are the next requests for a server, leaving out some objects.
func (s *Server) errands(server int, without map[proto.Handle]bool) ([]*errand, error) {
	var all []*errand
	err := s.store.View(func(tx *store.Tx) error {
		all = nil
		of := map[proto.Handle]*errand{} // by directory
		n := 0
		for _, x := range slices.Concat(s.fs.Servers[server].Meta, s.fs.Servers[server].Data) {
			for key, value := range tx.RecordsBetween(trashKey(x.First), trashKey(x.Last)) {
				h := handleOf(key, trashPrefix)
				if without[h] {
					continue
				}
				if n++; n > trashBatch {
					return nil
				}
				dir := dirOf(value)
				if of[dir] == nil {
					of[dir] = &errand{to: server, dir: dir}
					all = append(all, of[dir])
				}
				e := of[dir]
				e.handles, e.metafiles = append(e.handles, h), append(e.metafiles, metafileOf(value))
			}
		}
		return nil
	})
	return all, err
}

// carryOut removes the objects of an errand, and deletes their records. ours says whether the server is one of ours. left are the
// objects that must be tried again.
func (s *Server) carryOut(e *errand, ours func() (bool, error)) (left []proto.Handle, err error) {
	status, err := s.removeAll(e, ours)
	if err != nil {
		return nil, err
	}
	err = s.store.Update(func(tx *store.Tx) error {
		left = nil
		for i, h := range e.handles {
			if !s.settled(h, status[i]) {
				left = append(left, h)
			} else if err := e.forget(tx, h); err != nil {
				return err
			}
		}
		return nil
	})
	return left, err
}

// settled reports whether an object is removed, or never will be.
func (s *Server) settled(h proto.Handle, status proto.Status) bool {
	switch status.Base() {
	case proto.OK, proto.ENOENT:
	case proto.EACCES:
		s.log.Debug("an object stays, it has another name", "handle", h)
	case proto.ENOTEMPTY, proto.EPERM, proto.EINVAL, proto.EOPNOTSUPP:
		s.log.Warn("an object stays although nothing refers to it", "handle", h, "err", status)
	default:
		s.log.Debug("an object is not removed yet", "handle", h, "err", status)
		return false
	}
	return true
}

// forget deletes the record of an object, unless a new record names another directory.
func (e *errand) forget(tx *store.Tx, h proto.Handle) error {
	value, err := tx.Record(trashKey(h))
	if err != nil || dirOf(value) != e.dir {
		return err
	}
	return tx.SetRecord(trashKey(h), nil)
}

// header is the header of an errand's request.
func (e *errand) header(s *Server) *proto.Header {
	if e.dir == 0 {
		h := s.header(e.handles[0], e.handles)
		h.Hints = append(h.Hints, proto.MetafilesHint(e.metafiles))
		return h
	}
	h := s.header(e.dir, []proto.Handle{e.dir})
	h.Hints = append(h.Hints, proto.RemovesHint(e.dir))
	return h
}

// removeAll returns for each object of an errand whether it is removed.
func (s *Server) removeAll(e *errand, ours func() (bool, error)) ([]proto.Status, error) {
	header := e.header(s)
	if e.to == s.me {
		q := &query{ctx: s.ctx, header: header, objects: e.handles, Asker: rights.Asker{Shows: s.ownRights(e.handles)}}
		status := make([]proto.Status, len(e.handles))
		for i, h := range e.handles {
			q.metafile = e.metafiles[i]
			status[i] = proto.StatusOf(s.removeOne(q, h))
		}
		return status, nil
	}
	if e.dir != 0 {
		if is, err := ours(); err != nil {
			return nil, err
		} else if !is { // another server has this address now, without the objects
			return slices.Repeat([]proto.Status{proto.EOPNOTSUPP}, len(e.handles)), nil
		}
	}
	req := &proto.TreeRemoveReq{FS: s.fs.ID, Cred: s.credential(), Handles: e.handles}
	var resp proto.TreeRemoveResp
	if err := s.call(s.ctx, e.to, header, req, &resp); err != nil {
		return nil, err
	}
	if len(resp.Status) != len(e.handles) {
		return nil, proto.EPROTO
	}
	return resp.Status, nil
}
