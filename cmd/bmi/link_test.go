package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// TestPerfTellsWhatTheLinkCounted: over UDP the results are followed by the round trips of packets
// and other counters; over TCP, which the kernel makes reliable, there are none.
func TestPerfTellsWhatTheLinkCounted(t *testing.T) {
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	for _, method := range []string{"via+udp", "tcp"} {
		p := command(t, "perf", method, "--json", "--time", "2ms", "--tests", "latency", "--sizes", "8").start()
		require.Equal(t, cli.ExitOK, p.wait(), p.err.String())
		lines := strings.Split(strings.TrimSpace(p.out.String()), "\n")
		if method == "tcp" {
			require.Len(t, lines, 1)
			continue
		}
		require.Len(t, lines, 2)
		var r perf.Result
		require.NoError(t, json.Unmarshal([]byte(lines[1]), &r))
		assert.Equal(t, perf.RoundTrip, r.Test)
		assert.Equal(t, method, r.Method)
		assert.Positive(t, r.Median)
		assert.GreaterOrEqual(t, r.P99, r.Median)
		require.NotNil(t, r.Link)
		assert.Positive(t, r.Link.SegmentsSent)
		assert.Positive(t, r.Link.SegmentsReceived)
		assert.Positive(t, r.Link.RoundTrips)
		assert.GreaterOrEqual(t, r.Link.PacketsSent, r.Link.SegmentsSent)
	}
}
