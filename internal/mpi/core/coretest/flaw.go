package coretest

import (
	"math/rand/v2"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// A Flaw is an error in a Plain, to see whether Check finds it.
type Flaw uint8

// Flaws.
const (
	None           Flaw = iota
	Overtake            // messages of one sender arrive in any order
	LastReceive         // a message goes to the newest receive that it fits
	LastMessage         // a receive takes the newest message that matches
	AnyTagFits          // tags are ignored
	Twice               // some messages arrive twice
	Lost                // some messages never arrive
	Garbled             // some messages arrive with a wrong byte
	Stale               // the status of some messages has too large a size
	CancelledComes      // a cancelled message arrives
	flaws
)

// next returns which message on a wire arrives next.
func (f Flaw) next(rng *rand.Rand, wire []*plainMessage) int {
	if f == Overtake {
		return rng.IntN(len(wire))
	}
	return 0
}

// copies returns how many copies of a message arrive.
func (f Flaw) copies(rng *rand.Rand) int {
	switch {
	case f == Twice && rng.IntN(8) == 0:
		return 2
	case f == Lost && rng.IntN(8) == 0:
		return 0
	}
	return 1
}

// spoil changes the result of a receive.
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
