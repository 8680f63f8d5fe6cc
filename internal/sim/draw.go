package sim

import (
	"math/rand/v2"
	"time"
)

// A Draw chooses the numbers of a random world.
type Draw struct{ *rand.Rand }

// Pick returns one of the given numbers.
func (d Draw) Pick(of ...int) int { return of[d.IntN(len(of))] }

// UpTo returns a time below limit; 0 one time in three.
func (d Draw) UpTo(limit time.Duration) time.Duration {
	if d.IntN(3) == 0 {
		return 0
	}
	return time.Duration(d.Int64N(int64(limit)))
}

// Chance returns a probability below limit; 0 one time in three.
func (d Draw) Chance(limit float64) float64 {
	if d.IntN(3) == 0 {
		return 0
	}
	return d.Float64() * limit
}
