package bmi

import "time"

// LinkStats count what it took to make links reliable whose packets get lost, for
// methods that do this themselves. Counters only grow.
type LinkStats struct {
	// SegmentsSent and SegmentsReceived count every segment once, however often
	// it was sent or arrived. A segment is one packet's worth of a message.
	SegmentsSent, SegmentsReceived uint64
	// Retransmitted counts transmissions of segments beyond the first, Spurious
	// those of them that turned out not to have been needed. TimedOut counts
	// transmissions that were taken for lost because nothing arrived any more;
	// others are because later ones arrived.
	Retransmitted, TimedOut, Spurious uint64
	// Duplicates counts segments that had arrived before, Refused those that found
	// no place and were left to come again.
	Duplicates, Refused uint64
	// AcksSent counts packets that told of new arrivals, AcksReceived packets with
	// an ack, news or not.
	AcksSent, AcksReceived uint64

	// RoundTrips is how many round trips were measured, each from a
	// transmission until its ack was taken, without the time for which the
	// other side held that. Of a method, the percentiles are of all of them; of a
	// peer, those of its latest connection. 0: there are none.
	RoundTrips                                uint64
	RoundTripP50, RoundTripP99, RoundTripP999 time.Duration
}

// Add adds the counts of a later connection. The percentiles become its own, if it
// has measured any: they cannot be added.
func (s *LinkStats) Add(o *LinkStats) {
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

// PacketStats count packets, those included that belong to no connection. Counters
// only grow.
type PacketStats struct {
	// Sent and Received are packets, BytesSent and BytesReceived what was in them,
	// without what lower layers add.
	Sent, Received           uint64
	BytesSent, BytesReceived uint64
	// SendCalls and RecvCalls count calls of the system, in vain or not.
	SendCalls, RecvCalls uint64
	// GroupedSent and GroupedReceived are those of Sent and Received that crossed
	// into and out of the system several in one.
	GroupedSent, GroupedReceived uint64
	// Unsent counts packets that the system would not send, Overflowed those that
	// arrived and found its buffer full. For a link both are losses.
	Unsent, Overflowed uint64
	// Dropped counts packets that belong to no connection, or are not what its
	// other side made, or came twice. Refused counts requests to connect that were
	// turned away for another key, or another version of the protocol.
	Dropped, Refused uint64
}
