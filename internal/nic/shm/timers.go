package shm

import (
	"fmt"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/timers"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A timer is embedded in each thing that has a deadline. It has at most one at a time.
type timer struct {
	place timers.Timer[timer]
	owner timed
}

// A timed is called when its deadline has passed.
type timed interface{ expired(now time.Duration) }

// Timer is the place of the timer in Device.timers.
func (t *timer) Timer() *timers.Timer[timer] { return &t.place }

// set makes owner.expired run after a time.
func (d *Device) set(t *timer, owner timed, after time.Duration) {
	t.owner = owner
	d.timers.Set(t, d.clock()+after)
}

// expire runs the timers that are due.
func (d *Device) expire() {
	if now, due := d.timers.Due(d.clock); due {
		d.timers.Advance(now, func(t *timer) { t.owner.expired(now) })
	}
}

// startTimer gives the timeout of a connection's present state.
func (d *Device) startTimer(c *conn, timeout time.Duration) {
	c.deadline = d.clock() + timeout
	d.set(&c.timer, c, timeout)
	d.timed = append(d.timed, c)
	d.setCosts()
}

// stopTimer removes a connection's deadline.
func (d *Device) stopTimer(c *conn) {
	d.timers.Stop(&c.timer)
	if i := slices.Index(d.timed, c); i >= 0 {
		d.timed = slices.Delete(d.timed, i, i+1)
		d.setCosts()
	}
}

// retryDial makes a connection dial again, or fail at its deadline.
func (c *conn) retryDial() {
	c.dialPause = min(max(2*c.dialPause, dialRetry), dialRetryMax)
	c.dev.timers.Set(&c.timer, min(c.dev.clock()+c.dialPause, c.deadline))
}

// expired implements timed.
func (c *conn) expired(now time.Duration) {
	d := c.dev
	if c.state == connDialing && now < c.deadline {
		d.timers.Set(&c.timer, c.deadline)
		c.dial()
		return
	}
	switch c.state {
	case connDialing, connAsking:
		c.fail(fmt.Errorf("shm: connect to %s: %w", c.remote, nic.ErrTimeout))
	case connGreeting:
		d.stats.HalfOpen++
		c.release()
	case connAnswered:
		d.stats.HalfOpen++
		c.end(fmt.Errorf("shm: %s did not confirm: %w", c.remote, nic.ErrTimeout), codeNone)
	}
}

// An acceptPause leaves the listener alone for a while.
type acceptPause struct {
	timer
	dev *Device
}

func (p *acceptPause) expired(time.Duration) { p.dev.resumeAccept() }

// A trim takes the buffer pages from idle connections. Its timer is set while connections have any.
type trim struct {
	timer
	dev *Device
}

// trimLater schedules a check for idle connections with buffer pages.
func (d *Device) trimLater() {
	if !d.trim.place.IsSet() {
		d.set(&d.trim.timer, &d.trim, trimEvery)
	}
}

// expired trims the connections that have sent nothing since the last check.
func (t *trim) expired(time.Duration) {
	d, left := t.dev, false
	for i := range d.conns {
		c := d.conns[i].conn
		if c == nil || c.state != connOpen || c.backed == 0 {
			continue
		}
		if c.sent == c.trimSeen {
			c.trim()
		}
		c.trimSeen = c.sent
		left = left || c.backed != 0
	}
	if left {
		d.trimLater()
	}
}

// A sweep is a socket file to check because its process may have ended.
type sweep struct {
	timer
	dev  *Device
	name string
	try  int
}

// sweepLater removes the socket file of a dead peer, if it had a name.
func (d *Device) sweepLater(name string) {
	if !validName(name) || d.sweeps >= sweepsMax {
		return
	}
	d.sweeps++
	s := &sweep{dev: d, name: name}
	d.set(&s.timer, s, sweepAfter[0])
}

func (s *sweep) expired(time.Duration) {
	d := s.dev
	if d.dir.removeStale(s.name) {
		d.stats.Swept++
		d.sweeps--
		return
	}
	if s.try++; s.try == len(sweepAfter) {
		d.sweeps--
		return
	}
	d.set(&s.timer, s, sweepAfter[s.try])
}
