package core

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
)

// An EventKind is a kind of event that an engine reports.
type EventKind uint8

// Kinds of events.
const (
	ProcessFailed EventKind = iota
	ProcessLeft             // in good order
	Connected               // a process identified itself on a new connection
	Disconnected            // from such a process
	ConnectionRefused
	MessageKept // it arrived before its receive
	ScopeRevoked
)

// An Event is something that happened in an engine.
type Event struct {
	Kind    EventKind
	Proc    *Proc     // nil for ConnectionRefused and ScopeRevoked
	Context ContextID // of MessageKept and ScopeRevoked
	Status  Status    // of the message of MessageKept
	Cause   error     // of ProcessFailed and ConnectionRefused
}

// A watch is what observers of an engine want to know. It is nil if there are none, so that what
// happens without them costs one look.
type watch struct {
	observers []*observer
	marks     []*Mark
}

type observer struct{ fn func(Event) }

// watched returns the watch, for a caller that is about to add to it.
func (e *Engine) watched() *watch {
	if e.watch == nil {
		e.watch = new(watch)
	}
	return e.watch
}

// unwatch removes the watch if it has no observers and no marks.
func (e *Engine) unwatch() {
	if len(e.watch.observers)+len(e.watch.marks) == 0 {
		e.watch = nil
	}
}

// Observe makes the engine pass its events to fn, one at a time in the order in which they happen,
// until stop is called. fn is called with the engine's lock held: it must neither wait nor call the
// engine, except for Proc.Card and Proc.String.
func (e *Engine) Observe(fn func(Event)) (stop func()) {
	o := &observer{fn}
	e.mu.Lock()
	defer e.mu.Unlock()
	w := e.watched()
	w.observers = append(w.observers, o)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if i := slices.Index(w.observers, o); i >= 0 {
			w.observers = slices.Delete(w.observers, i, i+1)
			e.unwatch()
		}
	}
}

// tell passes an event to the observers.
func (e *Engine) tell(ev Event) {
	if e.watch == nil {
		return
	}
	for _, o := range e.watch.observers {
		o.fn(ev)
	}
}

// A Mark is the largest number of messages that waited for their receives at one time, since the Mark
// was made or reset.
type Mark struct {
	e       *Engine
	highest int
}

// Mark makes a Mark. The caller must stop it.
func (e *Engine) Mark() *Mark {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := &Mark{e: e, highest: e.match.KeptLen()}
	w := e.watched()
	w.marks = append(w.marks, m)
	return m
}

// Highest returns the largest number.
func (m *Mark) Highest() uint64 {
	m.e.mu.Lock()
	defer m.e.mu.Unlock()
	return uint64(m.highest)
}

// Reset sets the largest number to the present one, and returns the previous largest number.
func (m *Mark) Reset() uint64 {
	m.e.mu.Lock()
	defer m.e.mu.Unlock()
	was := m.highest
	m.highest = m.e.match.KeptLen()
	return uint64(was)
}

// Stop ends the Mark.
func (m *Mark) Stop() {
	m.e.mu.Lock()
	defer m.e.mu.Unlock()
	w := m.e.watch
	if w == nil {
		return
	}
	if i := slices.Index(w.marks, m); i >= 0 {
		w.marks = slices.Delete(w.marks, i, i+1)
		m.e.unwatch()
	}
}

// kept records that a message waits for its receive: it updates the marks and reports an event.
func (w *watch) kept(e *Engine, m *early) {
	n := e.match.KeptLen()
	for _, mark := range w.marks {
		mark.highest = max(mark.highest, n)
	}
	e.tell(Event{Kind: MessageKept, Proc: m.p, Context: ContextID(wire.ContextOf(uint64(m.bits))), Status: m.status()})
}
