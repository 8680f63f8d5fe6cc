package coretest

import (
	"math/rand/v2"

	"github.com/viaduct-hpc/viaduct/mpi/core"
)

// A Flaw is what is wrong with a Plain, so that it can be seen whether Check sees it.
type Flaw uint8

// Flaws.
const (
	None           Flaw = iota
	Overtake            // messages of one sender arrive in any order
	LastReceive         // a message goes to the newest receive that it fits
	LastMessage         // a receive takes the newest message that fits
	AnyTagFits          // tags are not looked at
	Twice               // some messages arrive twice
	Lost                // some messages never arrive
	Garbled             // some messages arrive with another byte in them
	Stale               // some messages are longer than they were, says the status
	CancelledComes      // a cancelled message arrives
	flaws
)

// next is which message of a wire arrives next.
func (f Flaw) next(rng *rand.Rand, wire []*plainMessage) int {
	if f == Overtake {
		return rng.IntN(len(wire))
	}
	return 0
}

// copies is how many of a message arrive.
func (f Flaw) copies(rng *rand.Rand) int {
	switch {
	case f == Twice && rng.IntN(8) == 0:
		return 2
	case f == Lost && rng.IntN(8) == 0:
		return 0
	}
	return 1
}

// spoil changes what a receive gets.
func (f Flaw) spoil(rng *rand.Rand, data []byte, st *core.Status, room int) {
	if rng.IntN(8) > 0 {
		return
	}
	switch {
	case f == Garbled && len(data) > 0:
		data[rng.IntN(len(data))] ^= 1
	case f == Stale && st.Bytes < room:
		st.Bytes++
	}
}
