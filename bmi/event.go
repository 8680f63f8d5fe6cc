package bmi

import "slices"

// An EventKind is a kind of rare event that methods report.
type EventKind uint8

// Kinds of events.
const (
	Connected    EventKind = iota // a connection with a peer began
	Disconnected                  // a connection with a peer ended
	TimedOut                      // packets to a peer were sent again because nothing arrived from it
)

// An Event is something rare that a method reports.
type Event struct {
	Kind   EventKind
	Method string
	Peer   string // its address
}

// A Reporter is a Host that takes the events of its method. An endpoint's Host is one.
type Reporter interface {
	// Report takes an event with a peer of an address.
	Report(kind EventKind, peer string)
}

// Report passes an event to a Host, if that is a Reporter.
func Report(h Host, kind EventKind, peer string) {
	if r, ok := h.(Reporter); ok {
		r.Report(kind, peer)
	}
}

// An observer is a function that Observe was given.
type observer struct{ fn func(Event) }

// Observe makes the endpoint pass the events of its methods to fn, until stop is called. fn is
// called with the lock of a method held, for one event of a method at a time. It must neither wait
// nor call the endpoint.
func (e *Endpoint) Observe(fn func(Event)) (stop func()) {
	o := &observer{fn}
	e.changeObservers(func(all []*observer) []*observer { return append(all, o) })
	return func() {
		e.changeObservers(func(all []*observer) []*observer {
			return slices.DeleteFunc(all, func(other *observer) bool { return other == o })
		})
	}
}

// changeObservers replaces the observers by a changed copy.
func (e *Endpoint) changeObservers(change func([]*observer) []*observer) {
	e.open.Lock()
	defer e.open.Unlock()
	var all []*observer
	if old := e.observers.Load(); old != nil {
		all = slices.Clone(*old)
	}
	all = change(all)
	e.observers.Store(&all)
}

// Report implements Reporter.
func (in *instance) Report(kind EventKind, peer string) {
	all := in.ep.observers.Load()
	if all == nil {
		return
	}
	for _, o := range *all {
		o.fn(Event{Kind: kind, Method: in.info.Name, Peer: peer})
	}
}
