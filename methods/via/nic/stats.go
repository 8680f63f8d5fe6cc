package nic

import "time"

// LinkStats count what it takes to make a lossy link reliable, for the link of one
// port or for all links that a device ever had. Counters only grow.
type LinkStats struct {
	// SegmentsSent and SegmentsReceived count every segment once, however often it
	// was sent or arrived.
	SegmentsSent, SegmentsReceived uint64
	// Retransmitted counts transmissions of segments beyond the first; Spurious
	// counts the retransmissions that were not needed. TimedOut counts
	// transmissions that were declared lost because nothing arrived any more. Other
	// losses are inferred from the arrival of later segments.
	Retransmitted, TimedOut, Spurious uint64
	// Duplicates counts segments that had arrived before. Refused counts segments
	// for which there was no room, and which had to be sent again.
	Duplicates, Refused uint64
	// AcksSent counts packets that acknowledged new arrivals. AcksReceived counts
	// packets with an ack, whether new or not.
	AcksSent, AcksReceived uint64

	// RoundTrips is the number of round trips measured. Each lasts from a
	// transmission until its ack was received, minus the time for which the other
	// side delayed the ack. The percentiles cover all of them; if RoundTrips is 0
	// there are none.
	RoundTrips                                uint64
	RoundTripP50, RoundTripP99, RoundTripP999 time.Duration
}

// PacketStats count the packets of a device, including packets that belong to no
// link. Counters only grow.
type PacketStats struct {
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

// A LinkCounter is a Device or a Port that counts. A port counts its one
// connection, and keeps the counts after the connection has ended. A device counts
// all present and past connections, including packets after their ports were
// closed.
type LinkCounter interface {
	LinkStats() LinkStats
}

// A PacketCounter is a Device that counts packets.
type PacketCounter interface {
	PacketStats() PacketStats
}

// LinkStatsOf returns the counts of a Device or a Port; zeros if it does not count.
func LinkStatsOf(deviceOrPort any) LinkStats {
	if c, ok := deviceOrPort.(LinkCounter); ok {
		return c.LinkStats()
	}
	return LinkStats{}
}

// PacketStatsOf returns the counts of a Device; zeros if it does not count.
func PacketStatsOf(d Device) PacketStats {
	if c, ok := d.(PacketCounter); ok {
		return c.PacketStats()
	}
	return PacketStats{}
}
