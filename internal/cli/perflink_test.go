package cli

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

func TestPerfPrintsWhatLinksCount(t *testing.T) {
	r, ok := perf.LinkResult(&bmi.MethodStats{
		Method: "x",
		Link: netstats.Link{
			SegmentsSent: 2000, Retransmitted: 30, TimedOut: 4, Spurious: 5, SegmentsReceived: 60, Duplicates: 7, Refused: 8,
			AcksSent: 9, AcksReceived: 10, RoundTrips: 11,
			RoundTripP50: 5500 * time.Nanosecond, RoundTripP99: 40 * time.Microsecond, RoundTripP999: 2 * time.Millisecond,
		},
		Packets: netstats.Packets{
			Sent: 3000, SendCalls: 21, GroupedSent: 22, Unsent: 23, Received: 24, RecvCalls: 25, GroupedReceived: 26, Overflowed: 27, Dropped: 28, Refused: 29,
		},
	})
	require.True(t, ok)
	var out bytes.Buffer
	require.NoError(t, newPerfOutput(&out, false).link(r))
	assert.Equal(t, `
link of x, this side:
segments sent      2000  30 again (1.5 %), 4 after a time-out, 5 in vain
segments received  60    7 once more, 8 without room
acks sent          9     10 received
round trips        11    median 5.500, p99 40.00, p99.9 2000 us
packets sent       3000  22 in groups, 21 calls, 23 not sent
packets received   24    26 in groups, 25 calls, 27 lost at a full buffer, 28 dropped, 29 requests to connect refused
`, out.String())

	out.Reset()
	require.NoError(t, newPerfOutput(&out, true).link(r))
	var back perf.Result
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	assert.Equal(t, r, back)
	assert.Zero(t, percent(1, 0))
}
