package share_test

import (
	"encoding/binary"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/share"
)

const bytes = 1 << 16

func create(t *testing.T) (*share.Region, share.Name) {
	r, n, err := share.Create(bytes)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r, n
}

func TestRegion(t *testing.T) {
	a, n := create(t)
	b, err := share.Open(n, bytes)
	require.NoError(t, err)
	a.Hide()
	_, err = share.Open(n, bytes)
	require.Error(t, err)
	a.Bytes()[100] = 7
	assert.EqualValues(t, 7, b.Bytes()[100])
	b.Bytes()[bytes-1] = 9
	assert.EqualValues(t, 9, a.Bytes()[bytes-1])
	b.Discard()
	assert.Equal(t, make([]byte, bytes), a.Bytes(), "in all processes that map the region")
	b.Close()
	b.Close()
	a.Bytes()[100] = 8
}

// TestNamesOfHostileProcesses: a descriptor that is not the named region is not mapped.
func TestNamesOfHostileProcesses(t *testing.T) {
	_, good := create(t)
	wrong := good
	wrong.Nonce[3]++
	_, err := share.Open(wrong, bytes)
	require.ErrorContains(t, err, "not the one")
	_, err = share.Open(good, bytes*2)
	require.ErrorContains(t, err, "something else")
	for _, n := range []share.Name{{PID: -1, FD: 1}, {PID: os.Getpid(), FD: -1}, {PID: os.Getpid(), FD: 1 << 20}, {PID: 1 << 30}} {
		_, err := share.Open(n, bytes)
		require.Error(t, err)
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.Truncate(bytes))
	_, err = share.Open(share.Name{PID: os.Getpid(), FD: int(file.Fd())}, bytes)
	require.Error(t, err)

	open, err := unix.MemfdCreate("", unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	defer unix.Close(open)
	require.NoError(t, unix.Ftruncate(open, bytes))
	_, err = share.Open(share.Name{PID: os.Getpid(), FD: open}, bytes)
	require.ErrorContains(t, err, "not sealed", "its owner could make it shorter")

	for _, size := range []int{-1, 0, 1 << 60} {
		_, _, err := share.Create(size)
		require.ErrorIs(t, err, errclass.Size)
	}
}

func TestLocks(t *testing.T) {
	r, _ := create(t)
	a, b := share.NewLocks(r.Bytes(), 3, 0), share.NewLocks(r.Bytes(), 3, 1)
	require.True(t, a.Try(2, true))
	assert.False(t, b.Try(2, true))
	assert.False(t, b.Try(2, false))
	assert.True(t, b.Try(1, true), "the lock of another rank")
	assert.True(t, a.Holder(2, 0))
	assert.False(t, a.Holder(2, 1), "it has tried, and does not hold")
	require.NoError(t, a.Unlock(2, true))
	assert.False(t, a.Holder(2, 0))
	require.True(t, a.Try(2, false))
	require.True(t, b.Try(2, false))
	assert.False(t, a.Try(2, true))
	require.NoError(t, a.Unlock(2, false))
	require.NoError(t, b.Unlock(2, false))
	require.True(t, b.Try(2, true))

	require.True(t, a.TryAtom(0))
	assert.False(t, b.TryAtom(0))
	assert.Equal(t, 0, b.AtomHolder(0))
	a.UnlockAtom(0)
	assert.Equal(t, -1, b.AtomHolder(0))
}

// TestOverwrittenLocks: any value in any word of the locks ends in an error or in a lock that is not
// free, and in nothing worse.
func TestOverwrittenLocks(t *testing.T) {
	r, _ := create(t)
	l := share.NewLocks(r.Bytes(), 2, 1)
	words := r.Bytes()[:share.LockBytes(2)]
	for _, value := range []uint64{1<<64 - 1, 1, 1 << 32, 1 << 63, 1<<32 - 1, 0xdead_beef_dead_beef} {
		for _, exclusive := range []bool{true, false} {
			fill := func() {
				for at := 64; at+8 <= len(words); at += 8 {
					binary.NativeEndian.PutUint64(words[at:], value)
				}
			}
			clear(words)
			require.True(t, l.Try(0, exclusive))
			fill()
			if err := l.Unlock(0, exclusive); err != nil {
				require.ErrorIs(t, err, errclass.RMASync)
			}
			fill()
			if l.Try(0, exclusive) {
				require.False(t, exclusive, "the lock was held")
			}
			l.Sleep(0)
			if l.TryAtom(0) {
				require.Equal(t, 1, l.AtomHolder(0))
			}
			l.UnlockAtom(0)
		}
	}
}

// TestConcurrentLocks: goroutines as ranks change a plain number under exclusive locks.
func TestConcurrentLocks(t *testing.T) {
	const ranks, rounds = 4, 300
	r, _ := create(t)
	var sum atomic.Int64
	var all sync.WaitGroup
	for rank := range ranks {
		l := share.NewLocks(r.Bytes(), ranks, rank)
		all.Go(func() {
			for range rounds {
				for !l.Try(0, true) {
					l.Sleep(0)
				}
				sum.Store(sum.Load() + 1) // the lock makes this one step
				if err := l.Unlock(0, true); err != nil {
					panic(err)
				}
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, ranks*rounds, sum.Load())
}
