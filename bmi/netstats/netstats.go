// Package netstats has counters of a network that both an endpoint and the devices below it show.
package netstats

import "time"

// Link count what it took to make lossy links reliable, for methods that do
// this themselves. Counters only grow.
type Link struct {
	// SegmentsSent and SegmentsReceived count every segment once, however often it
	// was sent or arrived. A segment is one packet's worth of a message.
	SegmentsSent, SegmentsReceived uint64
	// Retransmitted counts transmissions of segments beyond the first; Spurious
	// counts the retransmissions that were not needed. TimedOut counts
	// transmissions that were declared lost because nothing arrived any more.
	// Other losses are inferred from the arrival of later segments.
	Retransmitted, TimedOut, Spurious uint64
	// Duplicates counts segments that had arrived before. Refused counts segments
	// for which there was no room, and which had to be sent again.
	Duplicates, Refused uint64
	// AcksSent counts packets that acknowledged new arrivals. AcksReceived counts
	// packets with an ack, whether new or not.
	AcksSent, AcksReceived uint64

	// RoundTrips is the number of round trips measured. Each lasts from a
	// transmission until its ack was received, minus the time for which the other
	// side delayed the ack. A method's percentiles cover all round trips; a peer's
	// cover those of its latest connection. If RoundTrips is 0 there are no
	// percentiles.
	RoundTrips                                uint64
	RoundTripP50, RoundTripP99, RoundTripP999 time.Duration
}

// Add adds the counts of a later connection. If that connection measured any round
// trips, its percentiles replace those of s, because percentiles cannot be added.
func (s *Link) Add(o *Link) {
	s.SegmentsSent += o.SegmentsSent
	s.SegmentsReceived += o.SegmentsReceived
	s.Retransmitted += o.Retransmitted
	s.TimedOut += o.TimedOut
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
	// Sent and Received count packets; BytesSent and BytesReceived count their
	// contents, without the headers of lower layers.
	Sent, Received           uint64
	BytesSent, BytesReceived uint64
	// SendCalls and RecvCalls count system calls, including those that moved
	// nothing.
	SendCalls, RecvCalls uint64
	// GroupedSent and GroupedReceived are those of Sent and Received that shared a
	// system call buffer with other packets (UDP GSO and GRO).
	GroupedSent, GroupedReceived uint64
	// Unsent counts packets that the system refused to send. Overflowed counts
	// packets that arrived when the system's buffer was full. A link sees both as
	// losses.
	Unsent, Overflowed uint64
	// Dropped counts packets that belong to no connection, were not made by the
	// other side of their connection, or arrived twice. Refused counts connection
	// requests rejected for a wrong key or another protocol version.
	Dropped, Refused uint64
}
