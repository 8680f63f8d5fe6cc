package secure

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The window is compared with a set of everything that was ever committed.
func TestWindowAgainstASet(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		var w window
		seen := make(map[uint64]bool)
		top := uint64(0)
		for range 40_000 {
			number := top
			switch random.IntN(8) {
			case 0:
				number += random.Uint64N(3 * WindowPackets)
			case 1, 2:
				number -= min(top, random.Uint64N(WindowPackets+100))
			case 3:
				number += random.Uint64N(200)
			default:
				number -= min(top, random.Uint64N(70))
			}
			var want error
			switch {
			case number+WindowPackets < top:
				want = ErrOld
			case seen[number]:
				want = ErrReplayed
			}
			require.Equal(t, want, w.check(number), "seed %d number %d top %d", seed, number, top)
			if want == nil && random.IntN(10) != 0 { // else it was not authentic
				w.commit(number)
				seen[number] = true
				top = max(top, number+1)
			}
		}
	}
}

func TestWindowHoldsWhatItPromises(t *testing.T) {
	var w window
	w.commit(0)
	w.commit(WindowPackets)
	assert.ErrorIs(t, w.check(0), ErrOld)
	for n := uint64(1); n < WindowPackets; n++ {
		require.NoError(t, w.check(n))
		w.commit(n)
		require.ErrorIs(t, w.check(n), ErrReplayed)
	}
	w.commit(PacketsMax - 1)
	assert.ErrorIs(t, w.check(PacketsMax-1), ErrReplayed)
	assert.NoError(t, w.check(PacketsMax-WindowPackets))
	assert.ErrorIs(t, w.check(PacketsMax-WindowPackets-1), ErrOld)
}
