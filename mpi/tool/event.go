package tool

import (
	"cmp"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/about"
)

// An EventType describes events (MPI-4.1, 15.3.8).
type EventType struct {
	Name, Text string
	Category   string
	Verbosity  Verbosity
	Source     string          // the name of its EventSource
	Elements   []about.Element // what an Event carries
}

// An Event is something that happened (MPI_T_event_read, MPI_T_event_copy,
// MPI_T_event_get_timestamp, MPI_T_event_get_source; MPI-4.1, 15.3.8). It is a value, which a callback
// may keep.
type Event struct {
	Type   *EventType
	At     time.Duration // when it was noticed, in the time of its EventSource
	Values []any         // by EventType.Elements: each an int or a string
}

// An EventSource is where events come from (MPI-4.1, 15.3.8). Its clock has ticks of a nanosecond and
// never wraps.
type EventSource struct {
	Name, Text string
	// Ordered events are reported in the order in which they happen (MPI_T_SOURCE_ORDERED).
	Ordered bool
}

// began is the zero of the clock of all sources.
var began = time.Now()

// Now returns the time of the source (MPI_T_source_get_timestamp; MPI-4.1, 15.3.8).
func (EventSource) Now() time.Duration { return time.Since(began) }

// EventSources returns the sources of events (MPI_T_source_get_num, MPI_T_source_get_info; MPI-4.1,
// 15.3.8).
func (t *Interface) EventSources() ([]EventSource, error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	var all []EventSource
	for _, s := range about.Sources() {
		if s.Events != nil {
			all = append(all, EventSource{Name: s.Events.Name, Text: s.Events.Text, Ordered: s.Events.Ordered})
		}
	}
	return all, nil
}

// Events returns the types of events, by name (MPI_T_event_get_num, MPI_T_event_get_info; MPI-4.1,
// 15.3.8).
func (t *Interface) Events() ([]EventType, error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	return t.events(), nil
}

func (t *Interface) events() (all []EventType) {
	for _, s := range about.Sources() {
		if s.Events == nil {
			continue
		}
		for _, e := range s.Events.Types {
			all = append(all, EventType{
				Name: e.Name, Text: e.Text, Category: categoryOf(e.Name), Verbosity: verbosityOf(categoryOf(e.Name)),
				Source: s.Events.Name, Elements: e.Elements,
			})
		}
	}
	slices.SortFunc(all, func(a, b EventType) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// sourceOf returns the source of a type of events.
func sourceOf(name string) *about.EventSource {
	for _, s := range about.Sources() {
		if s.Events != nil && slices.ContainsFunc(s.Events.Types, func(e about.EventType) bool { return e.Name == name }) {
			return s.Events
		}
	}
	return nil
}
