package server

import (
	"fmt"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

// What is to be removed from other servers is written down in the transaction that makes it useless,
// and removed in the background: clients have often done so themselves.
const (
	trashPrefix = "trash/"
	trashDelay  = 200 * time.Millisecond // more may come
	trashBatch  = 512                    // in one request
)

// trash wakes those who empty it. The zero value is ready.
type trash struct {
	mu     sync.Mutex
	signal chan struct{}
}

func (t *trash) channel() chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.signal == nil {
		t.signal = make(chan struct{}, 1)
	}
	return t.signal
}

// wake is called after a commit with throwAway.
func (t *trash) wake() {
	select {
	case t.channel() <- struct{}{}:
	default:
	}
}

// throwAway notes, in a transaction, that objects are to be removed, here or on other servers.
func (s *Server) throwAway(tx *store.Tx, handles []proto.Handle) error {
	for _, h := range handles {
		if err := tx.SetRecord(fmt.Sprintf("%s%016x", trashPrefix, uint64(h)), []byte{1}); err != nil {
			return err
		}
	}
	return nil
}

// emptyTrash removes what was thrown away, now and until the server stops.
func (s *Server) emptyTrash() {
	for {
		s.keepTrying(s.removeTrash)
		select {
		case <-s.trash.channel():
		case <-s.ctx.Done():
			return
		}
		if !pause(s.ctx, trashDelay) {
			return
		}
	}
}

// removeTrash goes through all of it once.
func (s *Server) removeTrash() error {
	for {
		batches := map[int][]proto.Handle{}
		if err := s.store.View(func(tx *store.Tx) error {
			clear(batches)
			n := 0
			for key := range tx.Records(trashPrefix) {
				if n++; n > trashBatch {
					break
				}
				h := handleOf(key, trashPrefix)
				owner, ok := s.fs.Owner(h)
				if !ok {
					owner = s.me // it finds nothing
				}
				batches[owner] = append(batches[owner], h)
			}
			return nil
		}); err != nil {
			return err
		}
		if len(batches) == 0 {
			return nil
		}
		var failed error
		for to, handles := range batches {
			if err := s.removeBatch(to, handles); err != nil {
				failed = err
			}
		}
		if failed != nil {
			return failed
		}
	}
}

// removeBatch removes objects of one server, and forgets them.
func (s *Server) removeBatch(to int, handles []proto.Handle) error {
	status := make([]proto.Status, len(handles))
	if to == s.me {
		q := &query{ctx: s.ctx, header: s.header(0, handles), trust: server}
		for i, h := range handles {
			status[i] = proto.StatusOf(s.removeOne(q, h))
		}
	} else {
		req := &proto.TreeRemoveReq{FS: s.fs.ID, Cred: s.credential(), Handles: handles}
		var resp proto.TreeRemoveResp
		if err := s.callWith(s.ctx, to, handles[0], handles, req, &resp); err != nil {
			return err
		}
		if len(resp.Status) != len(handles) {
			return proto.EPROTO
		}
		status = resp.Status
	}
	var failed error
	err := s.store.Update(func(tx *store.Tx) error {
		failed = nil
		for i, h := range handles {
			switch status[i].Base() {
			case proto.OK, proto.ENOENT:
			case proto.ENOTEMPTY, proto.EPERM, proto.EINVAL:
				s.log.Warn("an object stays although nothing refers to it", "handle", h, "err", status[i])
			default:
				failed = status[i]
				continue
			}
			if err := tx.SetRecord(fmt.Sprintf("%s%016x", trashPrefix, uint64(h)), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return failed
}
