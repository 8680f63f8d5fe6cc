package epoch_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/epoch"
)

// allowed returns which calls a machine allows.
func allowed(m *epoch.Machine) (calls []string) {
	add := func(name string, err error) {
		if err == nil {
			calls = append(calls, name)
		}
	}
	probe := *m // MayAccess uses up a fence
	add("access 0", probe.MayAccess(0))
	add("access 1", probe.MayAccess(1))
	add("fence", m.MayFence())
	add("start", m.MayStart())
	_, err := m.Started()
	add("complete", err)
	_, err = m.Posted()
	add("wait", err)
	add("lock 0", m.MayLock(0))
	add("lock 1", m.MayLock(1))
	_, err = m.Locked(0)
	add("unlock 0", err)
	add("lock all", m.MayLockAll())
	_, err = m.LockedAll()
	add("unlock all", err)
	add("flush 0", m.MayFlush(0))
	add("flush 1", m.MayFlush(1))
	add("flush all", m.MayFlush(epoch.AllRanks))
	add("free", m.Idle())
	return calls
}

// TestMachine: what is allowed in each state.
func TestMachine(t *testing.T) {
	none := []string{"fence", "start", "lock 0", "lock 1", "lock all", "free"}
	var m epoch.Machine
	assert.Equal(t, none, allowed(&m))

	m.Fence(false)
	assert.Equal(t, append([]string{"access 0", "access 1"}, none...), allowed(&m))
	require.NoError(t, m.MayAccess(1))
	assert.Equal(t, []string{"access 0", "access 1", "fence", "free"}, allowed(&m), "the epoch of the fence is in use")
	m.Fence(true)
	assert.Equal(t, none, allowed(&m))

	m.Start([]int{1})
	assert.Equal(t, []string{"access 1", "complete"}, allowed(&m))
	m.Complete()
	assert.Equal(t, none, allowed(&m))

	require.NoError(t, m.Post([]int{0}))
	require.ErrorIs(t, m.Post(nil), errclass.RMASync)
	assert.Equal(t, []string{"start", "wait", "lock 0", "lock 1", "lock all"}, allowed(&m))
	m.Wait()
	assert.Equal(t, none, allowed(&m))

	m.Lock(0, epoch.Exclusive)
	assert.Equal(t, []string{"access 0", "lock 1", "unlock 0", "flush 0", "flush all"}, allowed(&m))
	m.Lock(1, epoch.Unchecked)
	h, err := m.Locked(1)
	require.NoError(t, err)
	assert.Equal(t, epoch.Unchecked, h)
	m.Unlock(0)
	assert.Equal(t, []string{"access 1", "lock 0", "flush 1", "flush all"}, allowed(&m))
	m.Unlock(1)
	assert.Equal(t, none, allowed(&m))

	m.LockAll(epoch.Shared)
	assert.Equal(t, []string{"access 0", "access 1", "unlock all", "flush 0", "flush 1", "flush all"}, allowed(&m))
	m.UnlockAll()
	assert.Equal(t, none, allowed(&m))
}

// TestEverywhere: what is allowed at all ranks without a change of the machine.
func TestEverywhere(t *testing.T) {
	var m epoch.Machine
	everywhere := func(access, first, flush bool, when string) {
		t.Helper()
		a, f, l := m.Everywhere()
		assert.Equal(t, []bool{access, first, flush}, []bool{a, f, l}, when)
	}
	everywhere(false, false, false, "no epoch")
	m.Fence(false)
	everywhere(true, true, false, "the first access changes the machine")
	require.NoError(t, m.MayAccess(1))
	everywhere(true, false, false, "an epoch of a fence that is in use")
	m.Fence(false)
	everywhere(true, true, false, "the next one")
	require.NoError(t, m.MayLockAll())
	m.Used()
	require.Error(t, m.MayLockAll())
	everywhere(true, false, false, "used again")
	m.Fence(true)
	m.Start([]int{0, 1})
	everywhere(false, false, false, "only the ranks of Start")
	m.Complete()
	m.Lock(0, epoch.Exclusive)
	everywhere(false, false, false, "only the locked rank")
	m.Unlock(0)
	m.LockAll(epoch.Shared)
	everywhere(true, false, true, "all are locked")
	m.UnlockAll()
	everywhere(false, false, false, "none any more")
}

func TestQueue(t *testing.T) {
	var q epoch.Queue
	assert.Equal(t, epoch.Granted, q.Lock(1, false))
	assert.Equal(t, epoch.Granted, q.Lock(2, false))
	assert.Equal(t, epoch.Twice, q.Lock(1, true))
	assert.Equal(t, epoch.Waits, q.Lock(3, true))
	assert.Equal(t, epoch.Waits, q.Lock(4, false), "behind the exclusive one, or that would wait for ever")
	assert.Equal(t, epoch.Twice, q.Lock(4, false))
	granted, ok := q.Unlock(9)
	assert.False(t, ok)
	assert.Empty(t, granted)
	granted, ok = q.Unlock(1)
	assert.True(t, ok)
	assert.Empty(t, granted)
	granted, refused := q.Lost(2)
	assert.Equal(t, []int{3}, granted)
	assert.Empty(t, refused)
	granted, _ = q.Unlock(3)
	assert.Equal(t, []int{4}, granted)
	_, ok = q.Unlock(4)
	assert.True(t, ok)
	assert.Equal(t, epoch.Granted, q.Lock(5, true))
	assert.Equal(t, epoch.Waits, q.Lock(6, false))
	assert.Equal(t, epoch.Waits, q.Lock(7, false))
	granted, refused = q.Lost(6)
	assert.Empty(t, granted)
	assert.Empty(t, refused)
	granted, refused = q.Lost(5)
	assert.Empty(t, granted)
	assert.Equal(t, []int{7}, refused)
	assert.Equal(t, epoch.Broken, q.Lock(8, false))
}

// TestQueueAtRandom: the holders never conflict, each rank that asks gets an answer, and none waits
// while the lock is free.
func TestQueueAtRandom(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		var q epoch.Queue
		modes := map[int]bool{} // of ranks that hold or wait: exclusive
		var holders []int
		grant := func(ranks []int) {
			holders = append(holders, ranks...)
			for _, h := range holders {
				require.False(t, modes[h] && len(holders) > 1, "seed %d: rank %d shares an exclusive lock", seed, h)
			}
		}
		for range 300 {
			rank := r.IntN(8)
			held := slices.Contains(holders, rank)
			_, known := modes[rank]
			switch {
			case !known:
				modes[rank] = r.IntN(2) == 0
				if q.Lock(rank, modes[rank]) == epoch.Granted {
					grant([]int{rank})
				}
			case held && (!modes[rank] && r.IntN(4) == 0):
				holders = slices.DeleteFunc(holders, func(h int) bool { return h == rank })
				delete(modes, rank)
				granted, refused := q.Lost(rank)
				require.Empty(t, refused)
				grant(granted)
			case held:
				holders = slices.DeleteFunc(holders, func(h int) bool { return h == rank })
				delete(modes, rank)
				granted, ok := q.Unlock(rank)
				require.True(t, ok)
				grant(granted)
			case r.IntN(4) == 0:
				delete(modes, rank)
				granted, _ := q.Lost(rank)
				grant(granted)
			}
			require.True(t, len(holders) > 0 || len(modes) == 0, "seed %d: the lock is free, and %v wait", seed, modes)
		}
	}
}
