package rpc

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func TestHistogram(t *testing.T) {
	var h histogram
	last := len(LatencyBounds)
	for _, took := range []time.Duration{0, LatencyBounds[0], LatencyBounds[0] + 1, LatencyBounds[last-1], LatencyBounds[last-1] + 1, time.Hour} {
		h.add(took)
	}
	want := Latencies{}
	want[0], want[1], want[last-1], want[last] = 2, 1, 1, 2
	assert.Equal(t, want, h.read())
	for i := 1; i < last; i++ {
		assert.Less(t, LatencyBounds[i-1], LatencyBounds[i])
	}
}

// TestSlowRequests: slow requests are logged, at most one in ten seconds, and others are not.
func TestSlowRequests(t *testing.T) {
	for slow, lines := range map[time.Duration]int{0: 0, 1: 1, time.Hour: 0} {
		var out logtext.Buffer
		w := newWorld(t, "mem")
		s, at, stop := w.serve(func(c *Call) { c.Reply(&proto.NoopResp{}) }, ServerOptions{Slow: slow, Log: slog.New(slog.NewTextHandler(&out, nil))})
		c, to := w.caller(at, Options{Timeout: far})
		for range 3 {
			require.NoError(t, noop(c, to))
		}
		stop() // waits for the handlers
		assert.Equal(t, lines, strings.Count(out.String(), "a request took long"), out.String())
		op := s.Stats().Ops[proto.OpNoop]
		assert.Zero(t, op.Active)
		total := uint64(0)
		for _, n := range op.Latency {
			total += n
		}
		assert.EqualValues(t, 3, total)
	}
}
