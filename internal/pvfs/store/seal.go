package store

import (
	"sync/atomic"
	"syscall"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/blocksum"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A datafile that was not written for some time is sealed: the whole file system below the store is synced once for all such files, and then
// the headers of their sums say so. From then on the sums are trusted after a loss of power, too. Before a sealed file is written, its header is
// changed back, and that is synced. So a file that is written often is not sealed, and no write but the first after
// a pause waits for the disk.

const (
	// sealEvery is how often files are sealed. One that was not written for between one and two such times is.
	sealEvery = 30 * time.Second
	// sealsAtOnce is how many files are sealed after one sync of the file system.
	sealsAtOnce = 4096
	// unsealedMax is how many files are remembered as not sealed. A scrub seals the others.
	unsealedMax = 1 << 20
)

// quiet records when a datafile was last written.
type quiet struct {
	pass atomic.Uint64 // of sealing, the last one before the end of that write
}

// quietOf returns that of a datafile.
func (fl *files) quietOf(h proto.Handle) *quiet {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if q := fl.unsealed[h]; q != nil {
		return q
	}
	return &quiet{}
}

// unseal notes that a datafile is not sealed.
func (fl *files) unseal(h proto.Handle, q *quiet) {
	q.pass.Store(fl.pass.Load())
	if fl.readOnly {
		return
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if len(fl.unsealed) < unsealedMax {
		fl.unsealed[h] = q
	}
}

// change is called before something of a datafile is changed, and changed after that, with the same lock of a region. EROFS: the store is only
// read, because it was opened so or its database is damaged.
func (c *checked) change() error {
	if c.fl.writes == nil {
		return syscall.EROFS
	}
	if !c.sealed.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sealed.Load() {
		return nil
	}
	if err := c.writeHeader(blocksum.Header{State: blocksum.Open, Handle: uint64(c.h), Boot: c.fl.boot}); err != nil {
		return err
	}
	if err := c.sums.Sync(); err != nil {
		return err
	}
	c.fl.unseal(c.h, c.quiet)
	c.sealed.Store(false)
	return nil
}

// changed notes the time. The pass is that of the end of the change: a sync of a later pass has all of it.
func (c *checked) changed() { c.quiet.pass.Store(c.fl.pass.Load()) }

// seal seals a datafile that was not written since a pass of sealing, after a sync that began later than that pass.
func (c *checked) seal(since uint64) error {
	if c.sums == nil {
		return nil
	}
	c.lockAll()
	defer c.unlockAll()
	if c.quiet.pass.Load() > since || c.sealed.Load() || !c.trusted.Load() {
		return nil
	}
	if err := c.writeHeader(blocksum.Header{State: blocksum.Sealed, Handle: uint64(c.h)}); err != nil {
		return err
	}
	c.sealed.Store(true)
	c.fl.mu.Lock()
	defer c.fl.mu.Unlock()
	delete(c.fl.unsealed, c.h)
	return nil
}

// sealQuiet seals the datafiles that were not written since a pass.
func (s *Store) sealQuiet(since uint64) error {
	fl := s.files
	for {
		var all []proto.Handle
		fl.mu.Lock()
		for h, q := range fl.unsealed {
			if q.pass.Load() <= since {
				all = append(all, h)
			}
			if len(all) == sealsAtOnce {
				break
			}
		}
		fl.mu.Unlock()
		if len(all) == 0 {
			return nil
		}
		if err := s.disk.SyncAll(s.dir); err != nil {
			return err
		}
		for _, h := range all {
			if err := s.sealOne(h, since); err != nil {
				return err
			}
		}
	}
}

func (s *Store) sealOne(h proto.Handle, since uint64) error {
	fl := s.files
	f, err := fl.acquire(h)
	if err != nil {
		return err
	}
	defer fl.release(f)
	open, err := f.open(fl, false)
	if err == nil && open != nil {
		err = open.seal(since)
	}
	// One that could not be sealed now is left to the next write, or to a scrub.
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if q := fl.unsealed[h]; q != nil && q.pass.Load() <= since {
		delete(fl.unsealed, h)
	}
	return err
}

// sealNowAndThen seals until the store is closed.
func (s *Store) sealNowAndThen(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			if pass := s.files.pass.Add(1); pass >= 2 {
				s.sealed(s.sealQuiet(pass - 2))
			}
		}
	}
}

// sealAll seals all datafiles, when the store is about to be closed.
func (s *Store) sealAll() {
	if !s.opts.ReadOnly {
		s.sealed(s.sealQuiet(s.files.pass.Add(1) - 1))
	}
}

// sealed logs why sealing failed. Until the machine stops, the sums are trusted nevertheless.
func (s *Store) sealed(err error) {
	if err != nil {
		s.log.Warn("store: checksums of datafiles could not be sealed", "dir", s.dir, "err", err)
	}
}
