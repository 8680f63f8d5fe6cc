package mpi

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// TestLentWord: a word that was offered to one agreement is not offered to another until the first
// has settled, and then without the contexts that it took.
func TestLentWord(t *testing.T) {
	var c contexts
	mask, none := make([]byte, contextBytes), make([]byte, contextBytes)
	require.True(t, c.offer(3, mask))
	other := make([]byte, contextBytes)
	assert.False(t, c.offer(3, other))
	assert.Equal(t, none, other)
	ids, done := c.settle(3, false, 1, other, nil)
	assert.False(t, done)
	assert.Empty(t, ids)
	assert.True(t, c.offer(4, other), "another word is free")
	ids, done = c.settle(3, true, 2, mask, nil)
	assert.True(t, done)
	assert.Equal(t, []core.ContextID{3 * 128, 3*128 + 2}, ids)
	require.True(t, c.offer(3, mask))
	ids, done = c.settle(3, true, 1, none, nil) // another process had nothing to offer
	assert.False(t, done)
	assert.Empty(t, ids)
	require.True(t, c.offer(3, mask))
	_, done = c.settle(3, true, 1, mask, assert.AnError)
	assert.False(t, done)
	c.release(3*128 + 2)
	require.True(t, c.offer(3, mask))
	ids, _ = c.settle(3, true, 1, mask, nil)
	assert.Equal(t, []core.ContextID{3*128 + 2}, ids)
}

// TestAgreements: an agreement finds a context if one is free, and leaves nothing behind.
func TestAgreements(t *testing.T) {
	var c contexts
	alone := func([]byte) error { return nil }
	key := agreementKey{parent: 4, tag: 1}
	require.NoError(t, c.enter(key))
	assert.ErrorIs(t, c.enter(key), errclass.Comm, "two with the same key")
	c.leave(key)
	_, err := c.agree(key, 65, alone)
	assert.ErrorIs(t, err, errclass.Other)
	_, err = c.agree(key, 1, func([]byte) error { return assert.AnError })
	assert.ErrorIs(t, err, assert.AnError)
	seen := map[core.ContextID]bool{}
	for i := range 64 * agreedWords {
		key.tag = i
		ids, err := c.agree(key, 1, alone)
		require.NoError(t, err)
		require.Len(t, ids, 1)
		require.False(t, seen[ids[0]])
		require.Zero(t, ids[0]%2)
		require.Less(t, int(ids[0]), 128*agreedWords)
		seen[ids[0]] = true
	}
	_, err = c.agree(key, 1, alone)
	assert.ErrorIs(t, err, errclass.Other)
	assert.Empty(t, c.going)
	assert.NotContains(t, c.lent, true)
}

// TestWordOrder: every cycle has every word once.
func TestWordOrder(t *testing.T) {
	for tag := range 100 {
		order := newWordOrder(agreementKey{tag: tag})
		for range 3 {
			seen := map[int]bool{}
			for range agreedWords {
				seen[order.next()] = true
			}
			require.Len(t, seen, agreedWords, "tag %d", tag)
		}
	}
}

// TestRetired: a context is not used again before many others have been.
func TestRetired(t *testing.T) {
	var c contexts
	closed := 0
	for i := range 2 * retiredMax {
		id := core.ContextID(2 * (i + 1))
		c.reserve(id)
		c.retire(id, func() { closed++ })
		assert.Equal(t, max(0, i+1-retiredMax), closed)
		assert.NotZero(t, c.taken[id/128]>>(id/2%64)&1)
		if i >= retiredMax {
			old := id - 2*retiredMax
			assert.Zero(t, c.taken[old/128]>>(old/2%64)&1)
		}
	}
}
