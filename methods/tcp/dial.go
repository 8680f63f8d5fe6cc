package tcp

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// A dial is an attempt to connect to a peer: its addresses are tried in turn, and a
// name among them is looked up when its turn comes.
type dial struct {
	r     *remote
	next  int // index of the peer's targets
	addrs []netip.AddrPort
	until time.Duration
	err   error // of the latest attempt
	// pause is the wait before the next round; paused while it lasts.
	pause  time.Duration
	paused bool
	timer
}

// startDial begins to connect.
func (m *method) startDial(r *remote) {
	d := &dial{r: r, until: m.clock() + m.opts.ConnectTimeout, pause: retryMin}
	d.owner = d
	r.dial, r.since = d, m.clock()
	m.timers.Set(&d.timer, d.until)
	m.dialNext(d)
}

// endDial ends the attempt to connect, if there is one.
func (m *method) endDial(r *remote) {
	if r.dial != nil {
		m.timers.Stop(&r.dial.timer)
		r.dial = nil
	}
}

// abandonDial ends the attempt to connect, and the connection that it has begun.
func (m *method) abandonDial(r *remote) {
	m.endDial(r)
	if c := r.c; c != nil && c.state == connOpening {
		m.forgetConn(c)
		r.c = nil
	}
}

// dialNext tries the next address.
func (m *method) dialNext(d *dial) {
	for {
		if len(d.addrs) > 0 {
			to := d.addrs[0]
			d.addrs = d.addrs[1:]
			if m.dialAddr(d, to) {
				return
			}
			continue
		}
		if d.next == len(d.r.targets) {
			break
		}
		t := d.r.targets[d.next]
		d.next++
		if known := t.Known(); known != nil {
			d.addrs = known
			continue
		}
		m.names.Ask(d, t)
		return
	}
	if m.opts.RetryAbsent && errors.Is(d.err, stack.ErrRefused) {
		d.paused, d.next = true, 0
		m.timers.Set(&d.timer, min(m.clock()+d.pause, d.until))
		d.pause = min(2*d.pause, retryMax)
		return
	}
	m.dialFailed(d, d.err)
}

// dialAddr begins to connect to one address. It reports false if that failed.
func (m *method) dialAddr(d *dial, to netip.AddrPort) bool {
	i, token := m.token()
	s, err := m.stack.Dial(to, token)
	if err != nil {
		m.freeSlot(i)
		d.err = err
		return false
	}
	c := m.newConn(s, i)
	c.r, d.r.c = d.r, c
	m.opening(c)
	return true
}

// opening checks whether a connection being made is ready.
func (m *method) opening(c *conn) {
	err := c.stream.Connected()
	switch {
	case err == nil:
		m.open(c)
	case errors.Is(err, stack.ErrAgain):
	case c.r == nil:
		m.broken(c, err)
	default:
		d := c.r.dial
		m.forgetConn(c)
		c.r.c = nil
		d.err = err
		m.dialNext(d)
	}
}

// dialFailed gives up. All operations with the peer fail, because nothing will come
// from it.
func (m *method) dialFailed(d *dial, cause error) {
	r := d.r
	m.abandonDial(r)
	r.since = m.clock()
	m.errors.ConnectFailed++
	r.failed = r.connectError(cause)
	m.failAll(r, r.failed)
}

// expired starts again after a pause, or gives up.
func (d *dial) expired(m *method) {
	if d.paused && m.clock() < d.until {
		d.paused = false
		m.timers.Set(&d.timer, d.until)
		m.dialNext(d)
		return
	}
	cause := d.err
	if !d.paused || cause == nil {
		cause = fmt.Errorf("no connection within %v", m.opts.ConnectTimeout)
	}
	m.dialFailed(d, cause)
}

// takeNames continues the dials whose names were looked up.
func (m *method) takeNames() bool {
	found := m.names.Take()
	for _, a := range found {
		d := a.For
		if d.r.dial != d {
			continue // given up meanwhile
		}
		if a.Err != nil {
			d.err = a.Err
		}
		d.addrs = a.Addrs
		m.dialNext(d)
	}
	return len(found) > 0
}
