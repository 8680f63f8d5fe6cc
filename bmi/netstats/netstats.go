// Package netstats has counters of a network that both an endpoint and the devices below it show.
package netstats

import "time"

// Link count what it took to make lossy links reliable, for methods that do
// this themselves. Counters only grow. The tags describe them for tools (package bmi/about).
type Link struct {
	SegmentsSent     uint64 `about:"segments sent, each counted once"`
	SegmentsReceived uint64 `about:"segments received, each counted once"`
	Retransmitted    uint64 `about:"transmissions of segments beyond the first"`
	TimedOut         uint64 `about:"transmissions declared lost because nothing arrived any more"`
	Lost             uint64 `about:"transmissions declared lost because later ones arrived"`
	Spurious         uint64 `about:"retransmissions that were not needed"`
	Duplicates       uint64 `about:"segments that had arrived before"`
	Refused          uint64 `about:"segments without room, to be sent again"`
	AcksSent         uint64 `about:"packets sent that acknowledged new arrivals"`
	AcksReceived     uint64 `about:"packets received with an ack, whether new or not"`

	// Each round trip lasts from a transmission until its ack was received, minus the time for which
	// the other side delayed the ack. A method's percentiles cover all round trips; a peer's cover
	// those of its latest connection. If RoundTrips is 0 there are no percentiles.
	RoundTrips    uint64        `about:"round trips measured"`
	RoundTripP50  time.Duration `about:"median of the round trips"`
	RoundTripP99  time.Duration `about:"99th percentile of the round trips"`
	RoundTripP999 time.Duration `about:"99.9th percentile of the round trips"`
}

// Add adds the counts of a later connection. If that connection measured any round
// trips, its percentiles replace those of s, because percentiles cannot be added.
func (s *Link) Add(o *Link) {
	s.SegmentsSent += o.SegmentsSent
	s.SegmentsReceived += o.SegmentsReceived
	s.Retransmitted += o.Retransmitted
	s.TimedOut += o.TimedOut
	s.Lost += o.Lost
	s.Spurious += o.Spurious
	s.Duplicates += o.Duplicates
	s.Refused += o.Refused
	s.AcksSent += o.AcksSent
	s.AcksReceived += o.AcksReceived
	s.RoundTrips += o.RoundTrips
	if o.RoundTrips > 0 {
		s.RoundTripP50, s.RoundTripP99, s.RoundTripP999 = o.RoundTripP50, o.RoundTripP99, o.RoundTripP999
	}
}

// Packets count packets, including packets that belong to no connection.
// Counters only grow.
type Packets struct {
	Sent            uint64 `about:"packets sent"`
	Received        uint64 `about:"packets received"`
	BytesSent       uint64 `about:"bytes of packets sent, without the headers of lower layers"`
	BytesReceived   uint64 `about:"bytes of packets received, without the headers of lower layers"`
	SendCalls       uint64 `about:"system calls to send, including those that moved nothing"`
	RecvCalls       uint64 `about:"system calls to receive, including those that moved nothing"`
	GroupedSent     uint64 `about:"packets sent several in one call (GSO)"`
	GroupedReceived uint64 `about:"packets received several in one call (GRO)"`
	Unsent          uint64 `about:"packets that the system refused to send; a link sees them as losses"`
	Overflowed      uint64 `about:"packets that arrived when the system's buffer was full; a link sees them as losses"`
	Dropped         uint64 `about:"packets of no connection, forged ones, and repetitions"`
	Refused         uint64 `about:"connection requests rejected for a wrong key or another protocol version"`
}
