package shm

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper holds what Sleep and Wake use concurrently with the owner.
type sleeper struct {
	// alive is held for reading while the descriptors are in use, and for
	// writing by Close.
	alive  sync.RWMutex
	down   bool
	wakeFD int
	woken  atomic.Bool // a wake is already in wakeFD
	count  atomic.Uint64

	// Doorbells are edge-triggered, so events that Sleep gets are kept for
	// the next Poll.
	hasKept atomic.Bool
	mu      sync.Mutex
	kept    []unix.EpollEvent
	events  [eventBatch]unix.EpollEvent // of the one goroutine in Sleep
}

// Arm implements nic.Sleeper.
func (d *Device) Arm() bool {
	if d.closed || d.urgent || d.sleep.hasKept.Load() {
		return false
	}
	d.armed = true
	for _, c := range d.hot {
		c.wantBell()
	}
	// Each wantBell was a full fence: a message that is not in a slot by now will
	// be followed by the doorbell.
	for _, c := range d.hot {
		if c.arrived() {
			d.Disarm()
			return false
		}
	}
	return true
}

// Disarm implements nic.Sleeper.
func (d *Device) Disarm() {
	if !d.armed || d.closed {
		return
	}
	d.armed = false
	for _, c := range d.hot {
		c.polling()
	}
	if d.sleep.hasKept.Load() {
		d.urgent = true
	} else {
		d.budget = 0 // Sleep may have ended at a deadline
	}
}

// Sleep implements nic.Sleeper. Times are rounded up to milliseconds.
func (d *Device) Sleep(timeout time.Duration) {
	s := &d.sleep
	s.alive.RLock()
	defer s.alive.RUnlock()
	if s.down || s.hasKept.Load() {
		return
	}
	s.count.Add(1)
	var until time.Time
	if timeout >= 0 {
		until = time.Now().Add(timeout)
	}
	for {
		n, err := unix.EpollWait(d.epfd, s.events[:], milliseconds(timeout))
		if errors.Is(err, unix.EINTR) {
			if timeout >= 0 {
				timeout = max(time.Until(until), 0)
			}
			continue
		}
		if err == nil && n > 0 {
			s.keep(s.events[:n])
		}
		return
	}
}

// keep stores events for the owner, and consumes a wake.
func (s *sleeper) keep(events []unix.EpollEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range events {
		if tokenKind(events[i].Pad&(1<<tokenBits-1)) == tokenWake {
			var b [8]byte
			_, _ = unix.Read(s.wakeFD, b[:])
			s.woken.Store(false) // a Wake before this line has ended this Sleep
			continue
		}
		s.kept = append(s.kept, events[i])
	}
	s.hasKept.Store(len(s.kept) > 0)
}

// takeKept handles the events that Sleep stored.
func (d *Device) takeKept() {
	var events [eventBatch]unix.EpollEvent
	s := &d.sleep
	s.mu.Lock()
	n := copy(events[:], s.kept)
	s.kept = s.kept[:copy(s.kept, s.kept[n:])]
	s.hasKept.Store(len(s.kept) > 0)
	s.mu.Unlock()
	d.handle(events[:n])
}

// Wake implements nic.Sleeper.
func (d *Device) Wake() {
	s := &d.sleep
	if s.woken.Load() || s.woken.Swap(true) {
		return
	}
	s.alive.RLock()
	defer s.alive.RUnlock()
	if !s.down {
		one := [8]byte{1}
		_, _ = unix.Write(s.wakeFD, one[:])
	}
}

// shut ends the current Sleep and all later ones, so that the descriptors can
// be closed.
func (s *sleeper) shut(one []byte) {
	_, _ = unix.Write(s.wakeFD, one)
	s.alive.Lock()
	s.down = true
	s.alive.Unlock()
}

// milliseconds rounds up: a Sleep that ends early would only be repeated.
func milliseconds(t time.Duration) int {
	switch {
	case t < 0:
		return -1
	case t > math.MaxInt32*time.Millisecond:
		return math.MaxInt32
	}
	return int((t + time.Millisecond - 1) / time.Millisecond)
}
