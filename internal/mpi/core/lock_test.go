package core

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"

	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
)

// twoMethods returns a stateLock over the first of two methods, and an address of each.
func twoMethods(t *testing.T) (m *stateLock, first, second bmi.Addr) {
	ep, err := bmi.Open(context.Background(), bmi.Config{
		Listen: []string{"mem://a"}, Methods: []string{"tcp"}, Manual: true,
		Options: map[string]any{bmitest.Name: bmitest.Options{Network: bmitest.NewNetwork()}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ep.Close()) })
	first, err = ep.Lookup("mem://b")
	require.NoError(t, err)
	second, err = ep.Lookup("tcp://127.0.0.1:1")
	require.NoError(t, err)
	return &stateLock{guard: ep.Guard()}, first, second
}

// TestHolds: short holds exclude each other and long ones, long ones each other, however they begin.
func TestHolds(t *testing.T) {
	m, _, _ := twoMethods(t)
	m.Lock()
	assert.False(t, m.tryShort(), "within a long hold")
	m.Unlock()
	require.True(t, m.tryShort())
	m.endShort()
	count := 0 // the race detector and the sum find holds that overlap
	var all sync.WaitGroup
	const rounds = 1000
	for i := range 4 {
		all.Go(func() {
			for range rounds {
				if i%2 == 0 {
					m.Lock()
					count++
					m.Unlock()
					continue
				}
				short := m.lockShort()
				count++
				m.endUnsent(short)
			}
		})
	}
	all.Wait()
	assert.Equal(t, 4*rounds, count)
}

// TestHoldsWithinQuickHandlers: a quick handler of the guard's own method has its lock; one of
// another method borrows it. Neither waits.
func TestHoldsWithinQuickHandlers(t *testing.T) {
	m, first, second := twoMethods(t)
	m.guard.Lock() // as bmi does
	require.True(t, m.tryWithin(first))
	assert.False(t, m.tryWithin(second), "another handler would have to wait")
	m.endWithin()
	assert.False(t, m.guard.TryLock(), "it is bmi's")
	m.guard.Unlock()

	require.True(t, m.tryWithin(second))
	assert.False(t, m.guard.TryLock())
	m.endWithin()
	require.True(t, m.tryShort(), "it was given back")
	m.endShort()

	m.Lock()
	assert.False(t, m.tryWithin(second))
	m.guard.Lock()
	assert.False(t, m.tryWithin(first))
	m.guard.Unlock()
	m.Unlock()
}
