package a

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

const (
	second = time.Second
	long   = 2 * (30 * second)
)

func TestTooFast(t *testing.T) {
	start := time.Now()
	assert.Less(t, time.Since(start), 50*time.Millisecond)
	took := time.Since(start)
	require.LessOrEqualf(t, took, 3*second, "it took %v", took)
	assert.Greater(t, second, took)
	assert.WithinDuration(t, start, start.Add(took), second)
	assert.InDelta(t, second, took, 10)
	if took > second {
		t.Error("slow")
	}
	if second < time.Since(start) {
		t.Fatal("slow")
	}
	require.Eventually(t, func() bool { return true }, 10*second, time.Millisecond)
	select {}
}

func TestPatient(t *testing.T) {
	start := time.Now()
	assert.Greater(t, time.Since(start), time.Millisecond)
	assert.Less(t, time.Since(start), long)
	wallclock.Under(t, time.Since(start), second, "nothing")
	for time.Since(start) < second {
		break
	}
	if time.Since(start) > second {
		t.Log("slow")
	}
	require.Eventually(t, func() bool { return true }, wallclock.Patience, time.Millisecond)
}

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		time.Sleep(second)
		assert.Less(t, time.Since(start), 2*second)
	})
}
