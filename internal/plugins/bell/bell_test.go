//go:build linux

package bell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
)

func newBell(t *testing.T) *bell.Bell {
	b, err := bell.New()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

// TestRingBeforeWait: a ring without a Wait ends the next Wait, and only that one.
func TestRingBeforeWait(t *testing.T) {
	b := newBell(t)
	b.Ring()
	b.Ring()
	require.NoError(t, b.Wait(-1))
	start := time.Now()
	require.NoError(t, b.Wait(20*time.Millisecond))
	assert.GreaterOrEqual(t, time.Since(start), 20*time.Millisecond)
}

// TestWaitEndsWhenRung: from another goroutine, time after time.
func TestWaitEndsWhenRung(t *testing.T) {
	there, back := newBell(t), newBell(t)
	done := make(chan error)
	go func() {
		for range 1000 {
			if err := there.Wait(-1); err != nil {
				done <- err
				return
			}
			back.Ring()
		}
		done <- nil
	}()
	for range 1000 {
		there.Ring()
		require.NoError(t, back.Wait(-1))
	}
	require.NoError(t, <-done)
}

// TestNoTimeout: Wait(0) does not wait.
func TestNoTimeout(t *testing.T) {
	b := newBell(t)
	require.NoError(t, b.Wait(0))
	b.Ring()
	require.NoError(t, b.Wait(0))
}

// TestForeignDescriptor: Wait returns for any descriptor that another process may pass.
func TestForeignDescriptor(t *testing.T) {
	var pipe [2]int
	require.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	require.NoError(t, unix.Close(pipe[1]))
	b, err := bell.Of(pipe[0])
	require.NoError(t, err)
	assert.Error(t, b.Wait(-1), "the other end of a pipe is closed")
	require.NoError(t, b.Close())

	file, err := unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	_, err = bell.Of(file)
	assert.Error(t, err, "nobody waits for a folder")
	_, err = bell.Of(1 << 20)
	assert.Error(t, err)
}

// TestCloseEndsWait: Close ends a Wait.
func TestCloseEndsWait(t *testing.T) {
	b, err := bell.New()
	require.NoError(t, err)
	done := make(chan error)
	go func() { done <- b.Wait(-1) }()
	require.NoError(t, b.Close())
	assert.Error(t, <-done)
}

// TestNoAllocations: Wait and Ring allocate nothing.
func TestNoAllocations(t *testing.T) {
	b := newBell(t)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		b.Ring()
		_ = b.Wait(-1)
	}))
}
