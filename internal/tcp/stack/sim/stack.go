package simstack

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// A Stack is one process' view of the network.
type Stack struct {
	host    *Host
	ended   error     // why calls fail
	sources []*source // open streams and listeners, for events without a reason
	ready   []*source // sources with an event
}

// A source makes events: a stream or a listener.
type source struct {
	stack *Stack // nil: its events go nowhere (yet, or any more)
	token stack.Token
	ready stack.Ready // not reported yet
	idle  func() stack.Ready
}

// Name is "simulated network".
func (s *Stack) Name() string { return "simulated network" }

// Listen takes connections at an address.
func (s *Stack) Listen(at netip.AddrPort, t stack.Token) (stack.Listener, error) {
	h := s.host
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	switch {
	case s.ended != nil:
		return nil, s.ended
	case !h.has(at.Addr()):
		return nil, fmt.Errorf("sim: host %s does not have the address %s", h.name, at.Addr())
	case at.Port() == 0:
		at = netip.AddrPortFrom(at.Addr(), h.claim())
	case h.find(at) != nil:
		return nil, fmt.Errorf("sim: listen at %s: %w", at, stack.ErrInUse)
	}
	l := &Listener{host: h, at: at, armed: true}
	h.listeners = append(h.listeners, l)
	s.adopt(&l.source, t)
	l.idle = func() stack.Ready { return stack.Readable }
	h.n.trace("%s listens", at)
	return l, nil
}

// Poll reports events.
func (s *Stack) Poll(events []stack.Event) (k int) {
	if s.ended != nil {
		return 0
	}
	n := s.host.n
	for ; k < len(events) && len(s.ready) > 0; k++ {
		// The order of events is random, because the kernel's order must not
		// matter.
		i := 0
		if n.opts.Spurious > 0 {
			i = n.sim.Rand().IntN(len(s.ready))
		}
		src := s.ready[i]
		s.ready = slices.Delete(s.ready, i, i+1)
		events[k] = stack.Event{Token: src.token, Ready: src.ready}
		src.ready = 0
	}
	if k < len(events) && len(s.sources) > 0 && n.sim.Chance(n.opts.Spurious) {
		src := s.sources[n.sim.Rand().IntN(len(s.sources))]
		events[k] = stack.Event{Token: src.token, Ready: src.idle()}
		k++
	}
	return k
}

// Close closes all open streams and listeners.
func (s *Stack) Close() error {
	if s.ended != nil {
		return nil
	}
	h := s.host
	for _, l := range slices.Clone(h.listeners) {
		if l.stack == s {
			_ = l.Close()
		}
	}
	for _, x := range slices.Clone(h.streams) {
		if x.stack == s {
			x.Close()
		}
	}
	s.end(errClosed)
	h.stacks = slices.DeleteFunc(h.stacks, func(o *Stack) bool { return o == s })
	return nil
}

func (s *Stack) end(err error) {
	s.ended = err
	for _, src := range s.sources {
		src.stack = nil
	}
	s.sources, s.ready = nil, nil
}

// adopt assigns a source's events to this stack, under a token.
func (s *Stack) adopt(src *source, t stack.Token) {
	src.stack, src.token = s, t
	s.sources = append(s.sources, src)
}

// drop forgets a source: its events go nowhere any more.
func (src *source) drop() {
	s := src.stack
	if s == nil {
		return
	}
	src.stack, src.ready = nil, 0
	gone := func(o *source) bool { return o == src }
	s.sources = slices.DeleteFunc(s.sources, gone)
	s.ready = slices.DeleteFunc(s.ready, gone)
}

// tell reports an event, now or a little later.
func (src *source) tell(r stack.Ready) {
	if src.stack == nil {
		return
	}
	n := src.stack.host.n
	delay := n.soon(n.opts.EventDelayMax)
	if delay == 0 {
		src.put(r)
		return
	}
	n.sim.After(delay, func() { src.put(r) })
}

func (src *source) put(r stack.Ready) {
	if src.stack == nil {
		return
	}
	if src.ready == 0 {
		src.stack.ready = append(src.stack.ready, src)
	}
	src.ready |= r
}
