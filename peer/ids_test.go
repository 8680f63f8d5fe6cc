package peer

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIDsAreFoundUntilGivenBack(t *testing.T) {
	ids := NewIDs[string](IDMax, 2)
	id, generation, ok := ids.Take("a")
	require.True(t, ok)
	assert.Equal(t, ID(1), id)
	item, ok := ids.Lookup(id)
	assert.True(t, ok)
	assert.Equal(t, "a", item)
	item, ok = ids.Check(id, generation)
	assert.True(t, ok)
	assert.Equal(t, "a", item)
	assert.Equal(t, 1, ids.Live())

	require.True(t, ids.Give(id, generation))
	_, ok = ids.Lookup(id)
	assert.False(t, ok)
	_, ok = ids.Check(id, generation)
	assert.False(t, ok)
	assert.False(t, ids.Give(id, generation), "twice")
	assert.Zero(t, ids.Live())
}

func TestIDsFromOutsideNameNobody(t *testing.T) {
	ids := NewIDs[int](IDMax, 0)
	ids.Take(1)
	for _, id := range []ID{0, 2, IDMax, IDMax + 1, 1<<32 - 1} {
		_, ok := ids.Lookup(id)
		assert.False(t, ok, "%d", id)
		_, ok = ids.Check(id, 1)
		assert.False(t, ok, "%d", id)
		assert.False(t, ids.Give(id, 1), "%d", id)
	}
}

func TestIDsRestBeforeTheyAreUsedAgain(t *testing.T) {
	ids := NewIDs[int](IDMax, 3)
	first, generation, _ := ids.Take(0)
	require.True(t, ids.Give(first, generation))
	for i := range 3 {
		id, g, ok := ids.Take(i)
		require.True(t, ok)
		assert.NotEqual(t, first, id, "given back %d uses ago", i)
		require.True(t, ids.Give(id, g))
	}
	id, g, ok := ids.Take(9)
	require.True(t, ok)
	assert.Equal(t, first, id, "the longest rested comes first")
	assert.NotEqual(t, generation, g)
	assert.False(t, ids.Give(first, generation), "of an earlier generation")
	_, ok = ids.Check(first, generation)
	assert.False(t, ok)
}

func TestIDsEnd(t *testing.T) {
	ids := NewIDs[int](2, 5)
	_, g1, ok := ids.Take(1)
	require.True(t, ok)
	_, _, ok = ids.Take(2)
	require.True(t, ok)
	_, _, ok = ids.Take(3)
	require.False(t, ok, "all are in use")
	require.True(t, ids.Give(1, g1))
	id, _, ok := ids.Take(3)
	require.True(t, ok, "rather a short rest than none at all")
	assert.Equal(t, ID(1), id)
	assert.Panics(t, func() { NewIDs[int](0, 0) })
	assert.Panics(t, func() { NewIDs[int](IDMax+1, 0) })
}

// TestIDsAgainstAMap compares with the obvious: a map of what is in use.
func TestIDsAgainstAMap(t *testing.T) {
	type use struct {
		id         ID
		generation uint32
	}
	const limit, quarantine = 40, 7
	rng := rand.New(rand.NewPCG(1, 2))
	ids, used := NewIDs[int](limit, quarantine), map[ID]int{}
	var live, over []use
	for i := range 20000 {
		if rng.IntN(2) == 0 {
			id, g, ok := ids.Take(i)
			require.Equal(t, len(used) < limit, ok)
			if ok {
				require.NotContains(t, used, id)
				require.True(t, id.Valid())
				used[id] = i
				live = append(live, use{id, g})
			}
		} else if len(live) > 0 {
			k := rng.IntN(len(live))
			u := live[k]
			live = append(live[:k], live[k+1:]...)
			require.True(t, ids.Give(u.id, u.generation))
			delete(used, u.id)
			over = append(over, u)
		}
		for id := range ID(limit + 2) {
			want, inUse := used[id]
			got, ok := ids.Lookup(id)
			require.Equal(t, inUse, ok)
			require.Equal(t, want, got)
		}
		for _, u := range over[max(0, len(over)-5):] {
			_, ok := ids.Check(u.id, u.generation)
			require.False(t, ok, "a generation that is over")
		}
		require.Equal(t, len(used), ids.Live())
	}
	assert.LessOrEqual(t, len(ids.entries), limit)
}
