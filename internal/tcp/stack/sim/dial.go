package simstack

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// A call is a connect in progress: the request is repeated until there is an
// answer.
type call struct {
	s        *Stream
	to       netip.AddrPort
	host     *Host // the host that has the address
	attempts int
	retry    *sim.Event
	giveUp   *sim.Event
	heard    bool // the other host has an answer under way, or needs no further request
	over     bool
}

// Dial begins to connect.
func (s *Stack) Dial(to netip.AddrPort, t stack.Token) (stack.Stream, error) {
	h := s.host
	n := h.n
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	switch {
	case s.ended != nil:
		return nil, s.ended
	case !to.IsValid() || to.Port() == 0:
		return nil, fmt.Errorf("sim: %s is no address to connect to", to)
	case n.sim.Chance(n.opts.DialExhausted):
		return nil, fmt.Errorf("sim: connect to %s: %w", to, stack.ErrExhausted)
	}
	x := newStream(h, netip.AddrPortFrom(h.addr, h.claim()), to)
	s.adopt(&x.source, t)
	c := &call{s: x, to: to, host: n.target(h, to.Addr())}
	x.call = c
	c.giveUp = n.sim.After(n.opts.ConnectTimeout, func() { c.failed(errTimeout) })
	n.trace("%s connects to %s", x.local, to)
	c.ask()
	return x, nil
}

// target is the host that an address means to another host.
func (n *Network) target(from *Host, a netip.Addr) *Host {
	if a.IsLoopback() || a.IsUnspecified() {
		return from
	}
	return n.hosts[a]
}

func (c *call) ask() {
	n := c.s.host.n
	if c.over || c.heard {
		return
	}
	c.retry = n.sim.After(n.backoff(c.attempts+3), c.ask)
	c.attempts++
	if c.host == nil {
		c.host = n.target(c.s.host, c.to.Addr())
	}
	if c.host == nil || n.sim.Chance(n.opts.ConnectLoss) {
		return
	}
	n.sim.After(n.delay(c.s.host, c.host), c.arrive)
}

// arrive is called when the request reaches the other host.
func (c *call) arrive() {
	n, h := c.s.host.n, c.host
	if c.over || c.heard || !n.reaches(c.s.host, h) {
		return
	}
	l := h.find(c.to)
	switch {
	case l == nil, n.sim.Chance(n.opts.Refuse):
		c.answer(func() { c.failed(fmt.Errorf("sim: connect to %s: %w", c.to, stack.ErrRefused)) }, func() {})
	case len(l.waiting)+l.expect >= n.opts.Backlog:
		return // the request will be repeated
	default:
		c.heard = true
		l.expect++
		t := newStream(h, c.to, c.s.local)
		join(c.s, t)
		c.welcome(l, t, 0)
	}
}

// answer sends an answer to the calling host, unless it is lost.
func (c *call) answer(fn, lost func()) {
	n, from, to := c.s.host.n, c.host, c.s.host
	n.sim.After(n.delay(from, to), func() {
		if from.up && n.reaches(from, to) {
			fn()
		} else {
			lost()
		}
	})
}

// welcome reports the connection to the caller, several times if necessary. If
// every report is lost, it forgets the connection and the caller may ask again.
func (c *call) welcome(l *Listener, t *Stream, attempt int) {
	n := c.s.host.n
	c.answer(func() { c.connected(l, t) }, func() {
		if attempt < welcomesMax {
			n.sim.After(n.backoff(attempt), func() { c.welcome(l, t, attempt+1) })
			return
		}
		l.expect--
		t.silence(errTimeout)
		if c.heard = false; !c.over {
			c.ask()
		}
	})
}

// welcomesMax is how often, as in Linux, a host repeats its answer that there is a
// connection.
const welcomesMax = 5

// connected is the arrival of the answer that there is a connection. The caller's
// reply confirms the connection to the other host.
func (c *call) connected(l *Listener, t *Stream) {
	n, s := c.s.host.n, c.s
	switch {
	case c.over:
		l.expect--
		n.resetSoon(t)
		return
	case t.err != nil:
		l.expect--
		c.failed(errReset)
		return
	}
	c.end()
	s.opened(n.soon(n.opts.SetupMax))
	confirm := n.delay(s.host, t.host) + n.soon(n.opts.AcceptDelayMax)
	n.sim.After(confirm, func() { l.enqueue(t) })
}

func (c *call) failed(err error) {
	if c.over {
		return
	}
	c.end()
	c.s.broke(err)
}

func (c *call) end() {
	c.over = true
	c.s.host.n.sim.Cancel(c.retry)
	c.s.host.n.sim.Cancel(c.giveUp)
}

// opened opens the stream after a time.
func (s *Stream) opened(after time.Duration) {
	open := func() {
		if s.err != nil || s.closed {
			return
		}
		s.open = true
		s.tell(stack.Writable)
		s.armedSend = false
		if s.finished {
			s.sendEnd()
		}
		switch {
		case s.in.finArrived:
			s.hangup()
		case s.in.readable():
			s.arrival()
		}
	}
	if after == 0 {
		open()
		return
	}
	s.host.n.sim.After(after, open)
}
