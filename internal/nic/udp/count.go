package udp

import (
	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/reliable"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var (
	_ nic.LinkCounter   = (*Device)(nil)
	_ nic.LinkCounter   = (*Port)(nil)
	_ nic.PacketCounter = (*Device)(nil)
	_ nic.Windowed      = (*Port)(nil)
)

// linkCount sums up the counts of lanes.
type linkCount struct {
	reliable.Stats
	trips reliable.Histogram
}

// add adds both lanes of a connection.
func (n *linkCount) add(c *conn) {
	for lane := range c.lanes {
		n.Add(c.lanes[lane].Stats())
		n.trips.Merge(c.lanes[lane].Trips())
	}
}

// stats returns the sum as netstats.Link.
func (n *linkCount) stats() netstats.Link {
	return netstats.Link{
		SegmentsSent: n.Sent, SegmentsReceived: n.Arrived,
		Retransmitted: n.Resent, TimedOut: n.Timeouts, Lost: n.Stats.Lost, Spurious: n.Stats.Spurious,
		Duplicates: n.Stats.Duplicates, Refused: n.Stats.Refused,
		AcksSent: n.Stats.AcksSent, AcksReceived: n.AcksTaken,
		RoundTrips:   n.trips.Count(),
		RoundTripP50: n.trips.Percentile(50), RoundTripP99: n.trips.Percentile(99), RoundTripP999: n.trips.Percentile(99.9),
	}
}

// LinkStats implements nic.LinkCounter.
func (d *Device) LinkStats() netstats.Link {
	sum := d.lanes()
	return sum.stats()
}

// lanes sums up the lanes of all connections, past and present.
func (d *Device) lanes() linkCount {
	sum := d.past
	for _, c := range d.conns {
		sum.add(c)
	}
	return sum
}

// LinkStats implements nic.LinkCounter. Retransmissions after the port has left
// the connection count only for the device.
func (p *Port) LinkStats() netstats.Link {
	if p.conn == nil {
		return p.last
	}
	return p.conn.linkStats()
}

// Window implements nic.Windowed: the sums of both lanes.
func (p *Port) Window() (most, used int) {
	if p.conn == nil {
		return 0, 0
	}
	for lane := range p.conn.lanes {
		m, u := p.conn.lanes[lane].Window()
		most, used = most+m, used+u
	}
	return most, used
}

func (c *conn) linkStats() netstats.Link {
	var sum linkCount
	sum.add(c)
	return sum.stats()
}

// PacketStats implements nic.PacketCounter.
func (d *Device) PacketStats() (sum netstats.Packets) {
	for lane := range d.outs {
		s := d.outs[lane].socket.Stats()
		sum.Sent += s.Sent
		sum.BytesSent += s.SentBytes
		sum.SendCalls += s.SendCalls
		sum.GroupedSent += s.SentGrouped
		sum.Unsent += s.Unsent + s.TooBig
		sum.Received += s.Received
		sum.BytesReceived += s.ReceivedBytes
		sum.RecvCalls += s.RecvCalls
		sum.GroupedReceived += s.ReceivedGrouped
		sum.Overflowed += s.Overflowed
	}
	sum.Dropped = d.stats.Malformed + d.stats.Stray + d.stats.Forged + d.stats.Replayed
	sum.Refused = d.stats.Refused + d.stats.Strangers
	return sum
}
