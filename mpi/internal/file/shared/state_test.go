package shared

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAdd(t *testing.T) {
	var s state
	for _, c := range []struct {
		delta, old int64
		ok         bool
	}{
		{5, 0, true}, {0, 5, true}, {math.MaxInt64 - 5, 5, true}, {1, math.MaxInt64, false}, {-1, math.MaxInt64, false}, {0, math.MaxInt64, true},
	} {
		old, ok := s.add(c.delta)
		assert.Equal(t, c.ok, ok)
		assert.Equal(t, c.old, old)
	}
}

// TestLocks: at no time do two locks conflict; every claim is granted in the end, and none before an
// earlier one with which it conflicts.
func TestLocks(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 11))
		var s state
		claims := make(map[owner]claim)
		held := make(map[owner]bool)
		order := make(map[owner]int)
		grant := func(o owner) {
			for other := range held {
				require.False(t, claims[o].conflicts(claims[other]))
			}
			for other, c := range claims {
				if !held[other] && order[other] < order[o] {
					require.False(t, c.conflicts(claims[o]), "an earlier claim was overtaken")
				}
			}
			held[o] = true
		}
		release := func() {
			for o := range held {
				delete(held, o)
				delete(claims, o)
				for _, g := range s.unlock(func(x owner) bool { return x == o }) {
					grant(g)
				}
				return
			}
		}
		for i := range 60 {
			if r.IntN(3) == 0 {
				release()
				continue
			}
			off := r.Int64N(20)
			c := claim{off, off + 1 + r.Int64N(6), r.IntN(2) == 0, owner{r.IntN(4), int64(i)}}
			claims[c.owner], order[c.owner] = c, i
			if s.lock(c) {
				grant(c.owner)
			}
		}
		for len(held) > 0 {
			release()
		}
		require.Empty(t, claims)
		require.Empty(t, s.held)
		require.Empty(t, s.waiting)
	}
}

// TestGone: the claims of a rank that failed end, and others get their locks.
func TestGone(t *testing.T) {
	var s state
	require.True(t, s.lock(claim{0, 10, false, owner{1, 1}}))
	require.False(t, s.lock(claim{5, 15, false, owner{1, 2}}))
	require.False(t, s.lock(claim{5, 15, false, owner{2, 1}}))
	require.True(t, s.lock(claim{20, 30, true, owner{3, 1}}))
	assert.Equal(t, []owner{{2, 1}}, s.unlock(func(o owner) bool { return o.rank == 1 }))
	assert.Len(t, s.held, 2)
}
