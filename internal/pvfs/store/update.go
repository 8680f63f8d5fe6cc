package store

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// groupMax is how many updates may share a database transaction.
const groupMax = 512

// An update waits in the queue until a group takes it.
type update struct {
	f    func(*Tx) error
	err  error
	dead []proto.Handle // datafiles whose bytes must be removed now
	turn chan bool      // true: lead the next group; false: the update is done
}

// View calls f with the last committed state. The transaction must not be used after f returns. f must not call Update, Sync or
// methods of a datafile.
func (s *Store) View(f func(*Tx) error) error {
	err := guard("view", func() error {
		tx, err := s.db.Begin(false)
		if err != nil {
			return err
		}
		defer tx.Rollback() // cannot fail for a reader
		return f(&Tx{s: s, tx: tx})
	})
	s.noteBroken(err)
	return err
}

// Update calls f with a transaction for changes. If f fails, nothing has changed, and Update returns f's error. When Update
// returns nil, all changes of f are visible to View, and on the disk unless metadata is not synced. f may be called more than
// once (after a failure that was not its own). It must be short, because others wait. It must not call View, Update or Sync.
func (s *Store) Update(f func(*Tx) error) error {
	if s.opts.ReadOnly {
		return fmt.Errorf("store: opened to be read only: %w", syscall.EROFS)
	}
	u := &update{f: f, turn: make(chan bool, 1)}
	s.queueMu.Lock()
	if s.closed || s.broken != nil {
		err := s.broken
		s.queueMu.Unlock()
		if err == nil {
			err = fmt.Errorf("store: %w", fs.ErrClosed)
		}
		return err
	}
	s.queue = append(s.queue, u)
	lead := !s.leading
	s.leading = true
	s.queueMu.Unlock()
	if lead || <-u.turn {
		s.lead(u)
	}
	if u.err == nil && len(u.dead) > 0 {
		s.removeBytes(u.dead)
	}
	return u.err
}

// lead takes the waiting updates, with the caller's first, and runs them in one database transaction. Then it makes the first of
// those that arrived meanwhile the next leader.
func (s *Store) lead(own *update) {
	runtime.Gosched() // updates that are just being queued share the transaction
	s.queueMu.Lock()
	n := min(len(s.queue), groupMax)
	group := append(s.group[:0], s.queue[:n]...)
	s.queue = append(s.queue[:0], s.queue[n:]...)
	unlinked := s.unlinked
	s.unlinked = nil
	s.queueMu.Unlock()

	if len(group) > 0 && !s.run(group, unlinked) {
		s.queueMu.Lock()
		s.unlinked = append(s.unlinked, unlinked...)
		s.queueMu.Unlock()
	}
	for _, u := range group {
		if u != own {
			u.turn <- false
		}
	}
	clear(group)

	s.queueMu.Lock()
	defer s.queueMu.Unlock()
	s.group = group
	if len(s.queue) > 0 {
		s.queue[0].turn <- true
		return
	}
	s.leading = false
	s.idle.Broadcast()
}

// run runs a group and reports whether its changes were committed. If the group hits damage or the disk is full, each update is
// run alone, so that only those fail that meet the damage or need the room.
func (s *Store) run(group []*update, unlinked []proto.Handle) bool {
	err := s.attempt(group, unlinked)
	if errors.Is(err, syscall.ENOSPC) && s.makeRoom() {
		s.log.Warn("store: the disk is full: nothing new can be made", "err", err)
		err = s.attempt(group, unlinked)
		s.tight = false
	}
	if err == nil {
		return true
	}
	broken := (*brokenError)(nil)
	if (errors.As(err, &broken) || errors.Is(err, syscall.ENOSPC)) && len(group) > 1 {
		for i := range group {
			s.run(group[i:i+1], nil)
		}
		return false
	}
	for _, u := range group {
		if u.err == nil {
			u.err = err
		}
		u.dead = nil
	}
	return false
}

// attempt runs a group in one transaction. Each update then has its own error; the result is the error of the whole group.
func (s *Store) attempt(group []*update, unlinked []proto.Handle) error {
	s.queueMu.Lock()
	broken := s.broken
	s.queueMu.Unlock()
	if broken != nil {
		return broken
	}
	if s.holdsMuch() {
		_ = s.Sync() // the commit gets its error
	}
	full := !s.mayFill() && !(s.syncToRemove() && s.mayFill())
	tx, err := s.db.Begin(true)
	if err != nil {
		return errnoOf(err)
	}
	id := tx.ID()
	t := &Tx{s: s, tx: tx, w: &batch{
		state: s.state.Load().clone(), dirs: map[proto.Handle]*dirCounter{}, now: s.clock(), full: full,
	}}
	changed := len(unlinked) > 0
	succeeded := uint64(0)
	var owners map[proto.Handle]proto.Handle
	if !t.w.full {
		owners = s.files.newOwners()
	}
	err = guard("update", func() error {
		for _, h := range unlinked {
			if err := t.table(tDead).Delete(handleKey(h)); err != nil {
				return err
			}
		}
		for _, u := range group {
			t.w.undo, t.w.dead, u.dead = t.w.undo[:0], nil, nil
			if u.err = u.f(t); u.err != nil {
				u.err = errnoOf(u.err)
				t.rollback()
				continue
			}
			changed = changed || len(t.w.undo) > 0
			u.dead = t.w.dead
			succeeded++
		}
		changed = changed || len(owners) > 0
		if !changed {
			return tx.Rollback()
		}
		if err := t.setOwners(owners); err != nil {
			return err
		}
		return t.flush()
	})
	if err == nil && changed {
		err = s.commit(tx)
	}
	if err != nil {
		s.afterFailure(err, uint64(id), func() error { return tx.Rollback() })
		return err
	}
	s.updates.Add(succeeded)
	if changed {
		s.commits.Add(1)
		s.state.Store(&t.w.state)
		s.files.known(owners)
	}
	return nil
}

// afterFailure ends a transaction that failed. If it is not certain what is on the disk, the store accepts no more changes until
// it is opened again.
func (s *Store) afterFailure(err error, id uint64, rollback func() error) {
	s.noteBroken(err)
	worse := guard("rollback", func() error {
		_ = rollback() // fails if Commit did it already
		tx, e := s.db.Begin(false)
		if e != nil {
			return e
		}
		defer tx.Rollback() // cannot fail for a reader
		if uint64(tx.ID()) >= id {
			return damaged("a failed transaction may be on the disk (%v)", err)
		}
		return nil
	})
	if worse == nil {
		return
	}
	s.refuse(fmt.Errorf("store: no changes until it is opened again: %w", worse))
	if broken := (*brokenError)(nil); errors.As(worse, &broken) {
		s.queueMu.Lock()
		s.stuck = true
		s.queueMu.Unlock()
	}
}

// noteBroken logs the first damage. There may be many reports of it.
func (s *Store) noteBroken(err error) {
	if broken := (*brokenError)(nil); errors.As(err, &broken) && !s.damageLogged.Swap(true) {
		s.log.Error("store: damaged", "err", broken, "where", broken.where)
	}
}

// unlinkDead removes the bytes of removed datafiles. unsure: some may have only checksums.
func (s *Store) unlinkDead(dead []proto.Handle, unsure bool) {
	unlinked := dead[:0]
	for _, h := range dead {
		if err := s.files.unlink(h, unsure); err != nil {
			s.log.Warn("store: the bytes of a removed datafile stay until the next start", "handle", h, "err", err)
			continue
		}
		unlinked = append(unlinked, h)
	}
	s.queueMu.Lock()
	s.unlinked = append(s.unlinked, unlinked...)
	s.queueMu.Unlock()
}
