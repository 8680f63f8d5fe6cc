package shm

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Poll implements nic.Device. It checks the slots of hot connections; everything
// else is checked now and then, when the budget is used up.
func (d *Device) Poll(out []nic.Event) int {
	if d.closed || len(out) == 0 {
		return 0
	}
	n := 0
	if d.urgent {
		if n = d.pollUrgent(out, 0); d.urgent && n == len(out) {
			return n
		}
	}
	n = d.pollHot(out, n)
	if n == 0 {
		d.budget -= d.emptyCost
	} else {
		d.budget -= pollBusyCost
	}
	if d.budget <= 0 {
		d.budget = pollBudget
		d.look()
		if d.urgent {
			n = d.pollUrgent(out, n)
		}
		if len(d.queue) == 0 {
			n = d.pollHot(out, n)
		}
	}
	return n
}

// pollHot delivers what has arrived in the slots.
func (d *Device) pollHot(out []nic.Event, n int) int {
	i := d.cursor
	for range d.hot {
		if i >= len(d.hot) {
			if i = 0; len(d.hot) == 0 {
				break
			}
		}
		c := d.hot[i]
		i++
		h := atomic.LoadUint64(c.header)
		if uint16(h>>stampShift) != c.stamp {
			continue
		}
		if n == len(out) {
			i--
			break
		}
		n = c.take(h, out, n)
	}
	d.cursor = i
	return n
}

// pollUrgent delivers queued events and continues unfinished work.
func (d *Device) pollUrgent(out []nic.Event, n int) int {
	if d.sleep.hasKept.Load() {
		d.takeKept()
	}
	if len(d.busy) > 0 {
		d.work()
	}
	n = d.unqueue(out, n)
	if len(d.queue) == 0 && len(d.ending) > 0 {
		n = d.pollEnding(out, n)
		n = d.unqueue(out, n)
	}
	d.urgent = len(d.queue) > 0 || len(d.busy) > 0 || len(d.ending) > 0
	return n
}

func (d *Device) unqueue(out []nic.Event, n int) int {
	k := copy(out[n:], d.queue[d.queueHead:])
	clear(d.queue[d.queueHead : d.queueHead+k])
	d.queueHead += k
	if d.queueHead == len(d.queue) {
		d.queue, d.queueHead = d.queue[:0], 0
	}
	return n + k
}

// pollEnding delivers the messages that the other side sent before it ended.
func (d *Device) pollEnding(out []nic.Event, n int) int {
	for i := 0; i < len(d.ending); {
		c := d.ending[i]
		for n < len(out) && c.state == connDraining && c.received < c.drainTo {
			h := atomic.LoadUint64(c.header)
			if uint16(h>>stampShift) != c.stamp {
				break
			}
			room := min(uint64(len(out)-n), c.drainTo-c.received)
			n = c.take(h, out[:n+int(room)], n)
		}
		switch {
		case c.state != connDraining: // it broke the rules in the end, and was taken out
		case c.received < c.drainTo && c.arrived():
			return n // no room
		default:
			c.drained()
		}
		if i < len(d.ending) && d.ending[i] == c {
			i++
		}
	}
	return n
}

// look asks the kernel for events of sockets and doorbells, and runs due timers.
func (d *Device) look() {
	d.stats.Looks++
	if d.sleep.hasKept.Load() {
		d.takeKept()
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(d.epfd),
		uintptr(unsafe.Pointer(&d.events[0])), eventBatch, 0, 0, 0)
	if errno == 0 {
		d.handle(d.events[:n])
		if n == eventBatch {
			d.budget = 0 // there may be more
		}
	}
	d.expire()
	d.coolIdle()
}

func (d *Device) handle(events []unix.EpollEvent) {
	for i := range events {
		c, kind := d.connOf(&events[i])
		switch {
		case kind == tokenListener:
			d.acceptSockets()
		case c == nil: // a wake, which is for Sleep, or too late
		case kind == tokenSocket:
			d.onSocket(c)
		case kind == tokenBell && c.state == connOpen:
			d.stats.DoorbellsHeard++
			// If another goroutine sleeps, its doorbell has been used up: heat
			// requests a new one.
			d.makeHot(c)
		}
	}
}

// coolIdle makes connections without traffic wait for their doorbells.
func (d *Device) coolIdle() {
	if d.armed {
		return
	}
	for i := len(d.hot) - 1; i >= 0; i-- {
		c := d.hot[i]
		if traffic := c.sent + c.received; traffic != c.seen {
			c.seen, c.idleLooks = traffic, 0
			continue
		}
		if c.idleLooks++; c.idleLooks >= coolAfter {
			c.idleLooks = 0
			d.makeCold(c)
		}
	}
}

// NextDeadline implements nic.Device.
func (d *Device) NextDeadline() (at time.Duration, ok bool) {
	switch {
	case d.closed:
		return 0, false
	case d.urgent:
		return d.clock(), true
	}
	return d.timers.Next()
}
