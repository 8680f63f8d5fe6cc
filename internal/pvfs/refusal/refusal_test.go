package refusal

import (
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNamesAreThere: each reason has its own name.
func TestNamesAreThere(t *testing.T) {
	seen := make(map[string]bool)
	for r := range Reason(Reasons) {
		require.NotEmpty(t, r.String(), int(r))
		require.False(t, seen[r.String()], r.String())
		seen[r.String()] = true
	}
}

// TestLogIsLimited: one log line in ten seconds per reason, with the number of refusals without a line.
func TestLogIsLimited(t *testing.T) {
	var log strings.Builder
	now := time.Unix(0, 0)
	c := New(slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	lines := func() []string {
		all := strings.Split(strings.TrimSpace(log.String()), "\n")
		log.Reset()
		return all
	}
	for range 1000 {
		c.Note(Network, "tcp://10.0.0.1:5", "op", 7)
	}
	c.Note(Malformed, "tcp://10.0.0.2:5")
	got := lines()
	require.Len(t, got, 2)
	assert.Contains(t, got[0], `msg="pvfs: network or port not trusted" client=tcp://10.0.0.1:5 "not logged before"=0 op=7`)
	assert.Contains(t, got[1], "malformed request")

	now = now.Add(LogEvery)
	c.Note(Network, "tcp://10.0.0.3:5")
	c.Note(OldCapability, "tcp://10.0.0.3:5")
	got = lines()
	require.Len(t, got, 1, "expired capabilities are only counted")
	assert.Contains(t, got[0], `client=tcp://10.0.0.3:5 "not logged before"=999`)
	assert.EqualValues(t, 1001, c.Count(Network))
	assert.EqualValues(t, 1, c.Count(OldCapability))
	assert.Zero(t, c.Count(CutOff))
}

// TestManyAtOnce: each refusal is counted exactly once.
func TestManyAtOnce(t *testing.T) {
	c := New(slog.New(slog.NewTextHandler(io.Discard, nil)), time.Now)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				c.Note(QueueFull, "x")
				c.Add(CutOff)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 8000, c.Count(QueueFull))
	assert.EqualValues(t, 8000, c.Count(CutOff))
}
