//go:build linux

package stream

import (
	"fmt"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// An ending is the reason why everything must stop. Only the first reason counts.
type ending struct {
	ch chan struct{} // closed with the first reason

	mu   sync.Mutex
	err  error
	bell *bell.Bell // wakes the sleeping reader; nil after mute
	then func()     // called with the first reason; may be nil
}

func newEnding(b *bell.Bell, then func()) *ending {
	return &ending{ch: make(chan struct{}), bell: b, then: then}
}

// end sets the reason, unless there is one already. err must not be nil.
func (e *ending) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return
	}
	e.err = err
	close(e.ch)
	if e.then != nil {
		e.then()
	}
	e.ringLocked()
}

// reason returns the first reason, or nil if there is none.
func (e *ending) reason() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// ring wakes the sleeping reader.
func (e *ending) ring() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ringLocked()
}

func (e *ending) ringLocked() {
	if e.bell != nil {
		e.bell.Ring()
	}
}

// mute ends the use of the bell, which is about to belong to the caller again.
func (e *ending) mute() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bell = nil
}

// An inlet reads a ring and sleeps when it is empty. One goroutine uses it.
type inlet struct {
	r    *ring.Reader
	bell *bell.Bell
}

// sleep returns when there may be a record, or when the bell rings.
func (i *inlet) sleep() (err error) {
	if i.r.Arm() {
		err = i.bell.Wait(-1)
		i.r.Disarm()
	}
	return err
}

// An outlet writes to a ring and waits when it is full. One goroutine at a time uses it.
type outlet struct {
	w    *ring.Writer
	ring func() // wakes the reader
	over *ending
}

// put writes a record: a Head, and the bytes behind it. It waits for room until the ending, and
// then returns its reason.
func (o *outlet) put(h *wire.Head, rest []byte) error {
	n := wire.HeadBytes + len(rest)
	if n > o.w.RecordMax() {
		return fmt.Errorf("%w: %v of %d bytes, the ring has room for %d", ErrProtocol, h.Kind, n, o.w.RecordMax())
	}
	for pause := pauseMin; ; pause = min(2*pause, pauseMax) {
		room, ok, err := o.w.Reserve(n)
		if err != nil {
			return err
		}
		if ok {
			h.Put(room)
			copy(room[wire.HeadBytes:], rest)
			o.w.Commit()
			if o.w.Asleep() {
				o.ring()
			}
			return nil
		}
		if err := o.over.pause(pause); err != nil {
			return err
		}
	}
}

// pause waits for d, or until the ending, and then returns its reason.
func (e *ending) pause(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-e.ch:
		return e.reason()
	case <-t.C:
		return nil
	}
}
