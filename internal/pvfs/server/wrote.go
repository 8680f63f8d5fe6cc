package server

import (
	"context"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The first write to a file whose mode sets a user or a group ends that, as on Linux. The mode is on the file's server, and the bytes
// are on others. So a capability to write to such a file says so, and a server that gets one with a write asks the file's server to
// change the mode before it writes. One question is enough for a capability: a mode that sets an ID again voids it.

// wroteMax is how many capabilities are remembered for which that was done.
const wroteMax = 4096

// wrote remembers them. The zero value is ready.
type wrote struct {
	mu   sync.Mutex
	done map[wroteKey]struct{}
}

type wroteKey struct {
	file proto.Handle
	at   int64
	user uint32
}

func (w *wrote) has(key wroteKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.done[key]
	return ok
}

// add remembers one more. If there are too many, all are forgotten: asking again does no harm.
func (w *wrote) add(key wroteKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done == nil || len(w.done) >= wroteMax {
		w.done = make(map[wroteKey]struct{})
	}
	w.done[key] = struct{}{}
}

// beforeWrite is called before a query changes bytes.
func (s *Server) beforeWrite(q *query) error {
	is := q.Shows.Issue
	if q.Shows.Proof != rights.Client || !is.SetsID {
		return nil
	}
	key := wroteKey{q.Shows.Handles[0], is.At, is.User} // giveCapability lists the file itself first
	if s.wrote.has(key) {
		return nil
	}
	if err := s.endsSetID(q.ctx, key.file); err != nil {
		return err
	}
	s.wrote.add(key)
	return nil
}

// endsSetID changes the mode of a file of this or another server.
func (s *Server) endsSetID(ctx context.Context, file proto.Handle) error {
	owner, ok := s.fs.Owner(file)
	switch {
	case !ok:
		return proto.ENOENT
	case owner != s.me:
		return s.give(ctx, notice{to: owner, near: file, part: file, hint: proto.WroteHint()})
	}
	return s.store.Update(func(tx *store.Tx) error {
		o, err := tx.Get(file)
		if err != nil || !s.endSetID(&o) {
			return err
		}
		return tx.Put(file, o)
	})
}

// endSetID changes the mode of a file, and reports whether it did.
func (s *Server) endSetID(o *store.Object) bool {
	if o.Type != proto.TypeMetafile || !rights.SetsID(o.Perms) {
		return false
	}
	o.Perms, o.CTime = rights.AfterWrite(o.Perms), s.clock().Unix()
	return true
}
