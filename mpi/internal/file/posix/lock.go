package posix

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// How long to wait before a lock that another process holds is tried again: the first time, and at
// most.
const (
	retryMin = 20 * time.Microsecond
	retryMax = 2 * time.Millisecond
)

// Lock implements storage.Locker, by locks of the open file description (F_OFD_SETLK, Linux). They
// end with the process. Of this File's locks no two overlap, shared or not: to the kernel they are
// one, so that the end of either would end both.
func (f *File) Lock(ctx context.Context, off, end int64, shared bool) (unlock func(), err error) {
	if f.noLocks.Load() {
		return nil, f.fail(unix.ENOLCK, "lock")
	}
	h, err := f.own.take(ctx, off, end)
	if err != nil {
		return nil, err
	}
	kind := int16(unix.F_WRLCK)
	if shared {
		kind = unix.F_RDLCK
	}
	for wait := retryMin; ; wait = min(2*wait, retryMax) {
		switch err = f.setLock(kind, off, end); {
		case err == nil:
			return func() {
				// If this fails, the lock stays until the file is closed, and others wait.
				_ = f.setLock(unix.F_UNLCK, off, end)
				f.own.drop(h)
			}, nil
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
			err = pause(ctx, wait)
		case errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL):
			f.noLocks.Store(true)
			err = errclass.Wrap(errclass.UnsupportedOperation, err, "lock %s: the file system has no locks, which this needs", f.f.Name())
		default:
			err = f.fail(err, "lock")
		}
		if err != nil {
			f.own.drop(h)
			return nil, err
		}
	}
}

// setLock sets or ends a lock of the kernel.
func (f *File) setLock(kind int16, off, end int64) (err error) {
	l := unix.Flock_t{Type: kind, Start: off, Len: end - off}
	closed := f.conn.Control(func(fd uintptr) {
		for err = unix.EINTR; err == unix.EINTR; {
			err = unix.FcntlFlock(fd, unix.F_OFD_SETLK, &l)
		}
	})
	if closed != nil {
		return fs.ErrClosed
	}
	return err
}

// pause waits, and returns the error of ctx if that ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A table holds the locks of one process.
type table struct {
	mu   sync.Mutex
	held map[*held]struct{}
}

// A held is a lock on bytes off to end-1. ended is closed with it.
type held struct {
	off, end int64
	ended    chan struct{}
}

// take waits until no other lock overlaps, and takes one.
func (t *table) take(ctx context.Context, off, end int64) (*held, error) {
	for {
		h, other := t.try(off, end)
		if h != nil {
			return h, nil
		}
		select {
		case <-other.ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try takes a lock, or returns another one that overlaps.
func (t *table) try(off, end int64) (taken, other *held) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for h := range t.held {
		if h.off < end && off < h.end {
			return nil, h
		}
	}
	if t.held == nil {
		t.held = make(map[*held]struct{})
	}
	h := &held{off, end, make(chan struct{})}
	t.held[h] = struct{}{}
	return h, nil
}

func (t *table) drop(h *held) {
	t.mu.Lock()
	delete(t.held, h)
	t.mu.Unlock()
	close(h.ended)
}
