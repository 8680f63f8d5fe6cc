package nic

import "time"

// LinkStats count what it takes to make a link reliable whose packets get lost:
// the link of one port, or all that a device ever had. Counters only grow.
type LinkStats struct {
	// SegmentsSent and SegmentsReceived count every segment once, however often
	// it was sent or arrived.
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
	// other side held that. The percentiles are of all of them; 0: there are none.
	RoundTrips                                uint64
	RoundTripP50, RoundTripP99, RoundTripP999 time.Duration
}

// PacketStats count the packets of a device, those included that belong to no link.
// Counters only grow.
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

// A LinkCounter is a Device, or a Port, that counts. A port counts its one
// connection, and keeps what it counted when that has ended. A device counts all
// connections that it has and had, and what the port of one did not live to see.
type LinkCounter interface {
	LinkStats() LinkStats
}

// A PacketCounter is a Device that counts packets.
type PacketCounter interface {
	PacketStats() PacketStats
}

// LinkStatsOf asks a Device or a Port what it counted; one that does not count has
// counted nothing.
func LinkStatsOf(deviceOrPort any) LinkStats {
	if c, ok := deviceOrPort.(LinkCounter); ok {
		return c.LinkStats()
	}
	return LinkStats{}
}

// PacketStatsOf asks a Device what it counted; one that does not count has counted
// nothing.
func PacketStatsOf(d Device) PacketStats {
	if c, ok := d.(PacketCounter); ok {
		return c.PacketStats()
	}
	return PacketStats{}
}
