package udp

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// A path is a connection's knowledge of its MTU. The kernel usually learns of a narrower path, but
// not always (a black hole: RFC 2923), and nothing reports a wider one.
type path struct {
	mtu    int           // UDP payload
	growAt time.Duration // when larger packets are tried next; 0: never
	wait   time.Duration // before the next try
	// While packets of the data lane are lost:
	asked  time.Duration // when the other side was last probed
	sure   int           // after this many time-outs there is a hole, if the other side answers
	looked time.Duration // the latest time-out already handled
}

const (
	// holeAsks is how many time-outs of the data lane in a row raise the suspicion of a
	// black hole; the other side is then probed. If it answers, and the lane is still
	// silent after holeSure more time-outs, there is a hole.
	holeAsks, holeSure = 2, 2
	// growMin and growMax bound the time before a narrow path is tried with larger
	// packets.
	growMin, growMax = 10 * time.Second, 10 * time.Minute
)

// pathMTU is the kernel's MTU of the path to the other side.
func (d *Device) pathMTU(c *conn) int {
	n := d.outs[wire.LaneData].socket.PathMTU(c.remote[wire.LaneData])
	if d.opts.PacketBytes > 0 {
		n = min(n, d.opts.PacketBytes)
	}
	return n
}

// tooBig reads the path MTU again.
func (d *Device) tooBig(c *conn) {
	d.stats.TooBig++
	c.shrink(d.pathMTU(c), growMin)
}

// shrink makes packets smaller for a while.
func (c *conn) shrink(mtu int, wait time.Duration) {
	if mtu >= c.path.mtu || c.state == connDead {
		return
	}
	c.resize(mtu)
	c.path.growAt = c.dev.now + wait
}

func (c *conn) resize(mtu int) {
	c.path.mtu = mtu
	for lane := range c.lanes {
		c.lanes[lane].SetSegmentBytes(mtu)
	}
}

// grow tries the kernel's MTU, when it is time.
func (c *conn) grow() {
	if at := c.path.growAt; at > 0 && c.dev.now >= at {
		c.path.growAt = 0
		c.resize(max(c.path.mtu, c.dev.pathMTU(c)))
	}
}

// lookForHole finds out, after time-outs of the data lane, whether the path drops large
// packets: small ones still arrive. The probe also covers the case that the other side
// restarted with another port for that lane: it then answers on the priority lane that
// it does not know the connection.
//
// A side that got no processor time for a while answers on both lanes when it runs
// again, but not at the same moment. So it gets the time of one more time-out, the
// longest so far.
func (c *conn) lookForHole() {
	p, d := &c.path, c.dev
	unanswered := c.lanes[wire.LaneData].Unanswered()
	first, latest := c.lanes[wire.LaneData].Silence()
	if unanswered < holeAsks || p.looked == latest {
		return
	}
	p.looked = latest // handle each time-out once
	if p.mtu > dgram.PayloadMin && p.asked >= first && c.heardAt > p.asked {
		if unanswered >= p.sure {
			p.wait = min(max(2*p.wait, growMin), growMax)
			d.stats.Holes++
			c.shrink(dgram.PayloadMin, p.wait)
		}
		return
	}
	p.asked, p.sure = d.now, unanswered+holeSure
	c.emit(wire.LanePriority, true)
}
