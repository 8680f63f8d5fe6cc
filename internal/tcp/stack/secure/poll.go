package secure

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// Poll implements stack.Stack.
func (t *Stack) Poll(events []stack.Event) int {
	if t.notes.some.Load() {
		t.heed()
	}
	t.expire()
	if t.hungry() {
		t.nourish()
	}
	n := t.report(events)
	for n < len(events) {
		room := events[n:]
		got := t.inner.Poll(room)
		n += t.translate(room[:got])
		n += t.report(events[n:])
		// Our own caller takes 0 to mean that nothing happened. So if all events
		// were internal, Poll must look for more.
		if n > 0 || got < len(room) {
			break
		}
	}
	return n
}

// heed processes what the goroutines of handshakes queued.
func (t *Stack) heed() {
	for _, s := range t.notes.take(nil) {
		s.advance()
	}
}

// report stores the events that this package made itself.
func (t *Stack) report(events []stack.Event) int {
	n := 0
	for n < len(events) && len(t.listeners) > 0 {
		l := t.listeners[0]
		t.listeners = t.listeners[1:]
		l.told = false
		if !l.closed {
			events[n] = stack.Event{Token: l.token, Ready: stack.Readable}
			n++
		}
	}
	for n < len(events) && len(t.streams) > 0 {
		s := t.streams[0]
		t.streams[0] = nil
		t.streams = t.streams[1:]
		if s.state == stateOpen || s.state == stateFailed {
			events[n] = stack.Event{Token: s.token, Ready: stack.Readable | stack.Writable | s.hangup}
			n++
		}
	}
	if len(t.streams) == 0 {
		t.streams = nil
	}
	return n
}

// translate acts on events of the stack below and keeps, in place, those that
// concern the owner, with the owner's tokens. It returns their number.
func (t *Stack) translate(events []stack.Event) int {
	n := 0
	for _, event := range events {
		one := t.slots[event.Token]
		switch {
		case one.listener != nil:
			one.listener.pull()
			continue
		case one.stream != nil && one.stream.ready(event.Ready):
			event.Token = one.stream.token
		default:
			continue
		}
		events[n] = event
		n++
	}
	return n
}

// Arm implements stack.Sleeper.
func (t *sleeper) Arm() bool {
	quiet := t.below.Arm()
	return quiet && len(t.listeners) == 0 && len(t.streams) == 0 && !t.notes.some.Load() && !t.hungry()
}

// Disarm implements stack.Sleeper.
func (t *sleeper) Disarm() { t.below.Disarm() }

// Sleep implements stack.Sleeper.
func (t *sleeper) Sleep(timeout time.Duration) { t.below.Sleep(timeout) }

// Wake implements stack.Sleeper.
func (t *sleeper) Wake() { t.below.Wake() }
