package perf

import (
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/netstats"
)

// RoundTrip is the name of a result that no test measures. It is the round trips of
// packets during the tests, from a method that makes its links reliable itself,
// with the method's counters (Result.Link).
const RoundTrip Test = "round-trip"

// LinkCounts are the counters of one side of a measurement: netstats.Link and
// netstats.Packets, where the fields are explained.
type LinkCounts struct {
	SegmentsSent     uint64  `json:"segments_sent"`
	Retransmitted    uint64  `json:"retransmitted"`
	TimedOut         uint64  `json:"timed_out"`
	Lost             uint64  `json:"lost"`
	Spurious         uint64  `json:"spurious"`
	SegmentsReceived uint64  `json:"segments_received"`
	Duplicates       uint64  `json:"duplicates"`
	Refused          uint64  `json:"refused"`
	AcksSent         uint64  `json:"acks_sent"`
	AcksReceived     uint64  `json:"acks_received"`
	RoundTrips       uint64  `json:"round_trips"`
	RoundTripP999    float64 `json:"round_trip_p999"` // in the unit of the result

	PacketsSent     uint64 `json:"packets_sent"`
	BytesSent       uint64 `json:"bytes_sent"`
	SendCalls       uint64 `json:"send_calls"`
	GroupedSent     uint64 `json:"grouped_sent"`
	Unsent          uint64 `json:"unsent"`
	PacketsReceived uint64 `json:"packets_received"`
	BytesReceived   uint64 `json:"bytes_received"`
	RecvCalls       uint64 `json:"recv_calls"`
	GroupedReceived uint64 `json:"grouped_received"`
	Overflowed      uint64 `json:"overflowed"`
	Dropped         uint64 `json:"dropped"`
	Strangers       uint64 `json:"requests_refused"`
}

// LinkResult is the result for a method's link counters; ok is false if there are
// none. Median and P99 are those of the round trips, not of batches.
func LinkResult(m *bmi.MethodStats) (r Result, ok bool) {
	l, p := &m.Link, &m.Packets
	if *l == (netstats.Link{}) {
		return Result{}, false
	}
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	return Result{
		Test: RoundTrip, Method: m.Method,
		Median: micros(l.RoundTripP50), P99: micros(l.RoundTripP99), Unit: UnitMicros,
		Link: &LinkCounts{
			SegmentsSent: l.SegmentsSent, Retransmitted: l.Retransmitted, TimedOut: l.TimedOut, Lost: l.Lost, Spurious: l.Spurious,
			SegmentsReceived: l.SegmentsReceived, Duplicates: l.Duplicates, Refused: l.Refused,
			AcksSent: l.AcksSent, AcksReceived: l.AcksReceived,
			RoundTrips: l.RoundTrips, RoundTripP999: micros(l.RoundTripP999),
			PacketsSent: p.Sent, BytesSent: p.BytesSent, SendCalls: p.SendCalls, GroupedSent: p.GroupedSent, Unsent: p.Unsent,
			PacketsReceived: p.Received, BytesReceived: p.BytesReceived, RecvCalls: p.RecvCalls,
			GroupedReceived: p.GroupedReceived, Overflowed: p.Overflowed, Dropped: p.Dropped, Strangers: p.Refused,
		},
	}, true
}
