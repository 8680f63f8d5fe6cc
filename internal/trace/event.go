package trace

import (
	"math"
	"time"
)

// A Phase is how an event is displayed.
type Phase uint8

// Phases.
const (
	// Call is something on the Track itself, from At to End. Calls of a Track do not overlap, but may contain one another.
	Call Phase = iota
	// Begin and End are the two ends, at At and End, of something with an ID. Such things may overlap.
	Begin
	End
	// Whole is both.
	Whole
)

// A Kind is what events of one kind have in common.
type Kind struct {
	Name     string
	Category string
	Nums     [numsMax]string // names of Event.Nums, in order; "" ends the list
	Strs     [strsMax]string // names of Event.Strs
}

const (
	numsMax = 6
	strsMax = 3
)

// None is a number that an Event does not have.
const None = math.MinInt64

// An Event is something that happened. It has a fixed size.
type Event struct {
	Kind    *Kind
	Phase   Phase
	Name    string // replaces Kind.Name if not empty
	ID      uint64 // of all phases but Call; unique in the process and the category, see Track.NextID
	At, End time.Duration
	Nums    [numsMax]int64
	Strs    [strsMax]string // empty ones are left out
}
