package secure

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// A listener takes streams from the one below as they arrive, so that handshakes
// begin before the owner accepts. The owner gets them in the same order. A stream
// that was not accepted yet has no token: its events wait until it has one.
type listener struct {
	owner  *Stack
	inner  stack.Listener
	slot   stack.Token
	token  stack.Token
	queue  []*stream // not accepted yet
	err    error     // why the listener below gave no stream; ErrExhausted, or worse
	told   bool      // in owner.listeners
	closed bool
}

// Accept implements stack.Listener.
func (l *listener) Accept(token stack.Token) (stack.Stream, error) {
	if len(l.queue) == 0 {
		l.err = nil
		l.pull()
	}
	if len(l.queue) == 0 {
		if l.err != nil {
			return nil, l.err
		}
		return nil, stack.ErrAgain
	}
	s := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	s.token, s.taken = token, true
	if s.state != stateOpening && s.state != stateShaking {
		l.owner.streams = append(l.owner.streams, s)
	}
	return s, nil
}

// pull accepts waiting streams from the listener below, while there is room.
func (l *listener) pull() {
	t := l.owner
	for !l.closed {
		if l.full() {
			if !slices.Contains(t.starved, l) {
				t.starved = append(t.starved, l)
			}
			return
		}
		s := t.newStream()
		inner, err := l.inner.Accept(s.slot)
		if err != nil {
			t.give(s.slot)
			if !errors.Is(err, stack.ErrAgain) {
				l.err = err
				l.tell()
			}
			return
		}
		s.inner, s.accepted = inner, true
		l.queue = append(l.queue, s)
		l.tell()
		t.shaking++
		s.open()
	}
}

// full: further streams must wait below.
func (l *listener) full() bool {
	most := l.owner.handshakesMax()
	return l.owner.shaking >= most || len(l.queue) >= most
}

// tell queues an event for the owner.
func (l *listener) tell() {
	if !l.told {
		l.told = true
		l.owner.listeners = append(l.owner.listeners, l)
	}
}

// hungry reports whether a listener that was full has room again.
func (t *Stack) hungry() bool {
	return slices.ContainsFunc(t.starved, func(l *listener) bool { return !l.full() })
}

// nourish makes listeners that were full take the streams that wait for them.
func (t *Stack) nourish() {
	starved := t.starved
	t.starved = nil
	for _, l := range starved {
		l.pull()
	}
}

// Addr implements stack.Listener.
func (l *listener) Addr() netip.AddrPort { return l.inner.Addr() }

// Close implements stack.Listener.
func (l *listener) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	err := l.inner.Close()
	l.owner.give(l.slot)
	for _, s := range l.queue {
		s.abandon()
	}
	l.queue = nil
	return err
}
