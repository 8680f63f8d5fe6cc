package simstack

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// A Listener accepts connections.
type Listener struct {
	source
	host    *Host
	at      netip.AddrPort
	armed   bool          // an arrival makes an event
	expect  int           // handshakes under way
	waiting []*Stream     // connected, for Accept to take
	full    time.Duration // until when Accept finds no room
	closed  bool
}

// Addr is the address on which it listens.
func (l *Listener) Addr() netip.AddrPort { return l.at }

// Accept takes a connection.
func (l *Listener) Accept(t stack.Token) (stack.Stream, error) {
	if l.stack == nil {
		return nil, errClosed
	}
	if len(l.waiting) == 0 {
		l.armed = true
		return nil, stack.ErrAgain
	}
	n := l.host.n
	if n.sim.Now() >= l.full && n.sim.Chance(n.opts.Exhausted) {
		l.full = n.sim.Now() + n.soon(n.opts.ExhaustedMax)
	}
	if n.sim.Now() < l.full {
		return nil, fmt.Errorf("sim: accept at %s: %w", l.at, stack.ErrExhausted)
	}
	s := l.waiting[0]
	l.waiting = slices.Delete(l.waiting, 0, 1)
	s.accepted(l.stack, t)
	return s, nil
}

// Close resets the waiting connections.
func (l *Listener) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	l.host.n.trace("%s closes", l.at)
	l.host.listeners = slices.DeleteFunc(l.host.listeners, func(o *Listener) bool { return o == l })
	l.drop()
	for _, s := range l.waiting {
		s.abort(errClosed)
	}
	l.waiting = nil
	return nil
}

// enqueue makes a connection ready for Accept.
func (l *Listener) enqueue(s *Stream) {
	l.expect--
	if l.closed || l.stack == nil {
		s.abort(errClosed)
		return
	}
	if s.err != nil && l.host.n.sim.Chance(0.5) {
		return // it broke before Accept
	}
	l.waiting = append(l.waiting, s)
	if l.armed {
		l.armed = false
		l.tell(stack.Readable)
	}
}
