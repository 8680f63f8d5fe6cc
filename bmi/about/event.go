package about

import "time"

// An EventType describes events that a layer reports when they happen.
type EventType struct {
	Name     string // layers and what happened, with dots
	Text     string
	Elements []Element // of each event
}

// An EventSource reports events of a process.
type EventSource struct {
	Name, Text string
	Types      []EventType
	// Ordered: events are reported one at a time, in the order in which they happen.
	Ordered bool
	// Observe reports the events of a process to fn, until stop is called. It calls fn with locks
	// held: fn must neither wait nor call anything else of this module.
	Observe func(process any, fn func(Event)) (stop func())
}

// An Element is a value that an event carries.
type Element struct{ Name, Text string }

// An Event is something that happened.
type Event struct {
	Name   string    // of its EventType
	At     time.Time // when it was noticed
	Values []any     // by EventType.Elements: each an int or a string
}
