package udp

import (
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// A path is what a connection knows of how large its packets may be. The kernel
// hears of a narrower path as a rule, but not always (a black hole: RFC 2923); and
// nobody tells when a path gets wider.
type path struct {
	mtu    int           // UDP payload
	growAt time.Duration // when larger packets are tried again; 0: never
	wait   time.Duration // before the next such time
	// While packets of the data lane are lost:
	asked  time.Duration // when the other side was asked whether it is there
	sure   int           // after so many time-outs there is a hole, if it is there
	looked time.Duration // the latest time-out that was thought about
}

const (
	// holeAsks is how many time-outs of the data lane in a row make a black hole
	// suspected. If the other side is there by the next one, and the lane is still
	// silent at the one after that, holeSure after the question, it is found.
	holeAsks, holeSure = 2, 2
	// growMin and growMax bound how long a narrow path is not tried again.
	growMin, growMax = 10 * time.Second, 10 * time.Minute
)

// pathMTU is what fits through the path to the other side, as the kernel knows.
func (d *Device) pathMTU(c *conn) int {
	n := d.outs[wire.LaneData].socket.PathMTU(c.remote[wire.LaneData])
	if d.opts.PacketBytes > 0 {
		n = min(n, d.opts.PacketBytes)
	}
	return n
}

// tooBig looks anew how large packets may be.
func (d *Device) tooBig(c *conn) {
	d.stats.TooBig++
	c.shrink(d.pathMTU(c), growMin)
}

// shrink makes packets smaller, for a while.
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

// grow tries what the kernel believes in, when it is time.
func (c *conn) grow() {
	if at := c.path.growAt; at > 0 && c.dev.now >= at {
		c.path.growAt = 0
		c.resize(max(c.path.mtu, c.dev.pathMTU(c)))
	}
}

// lookForHole finds out, after time-outs of the data lane, whether the path swallows
// large packets: small ones still come through. Or the other side came back with
// another port for that lane, and says at the priority lane that it knows nothing.
//
// A side that had no core for a while answers on both lanes once it has one, but not at
// the same moment: it gets the time of one more time-out, the longest so far.
func (c *conn) lookForHole() {
	p, d := &c.path, c.dev
	unanswered := c.lanes[wire.LaneData].Unanswered()
	first, latest := c.lanes[wire.LaneData].Silence()
	if unanswered < holeAsks || p.looked == latest {
		return
	}
	p.looked = latest // once for each
	if p.mtu > dgram.PayloadMin && p.asked >= first && c.heardAt > p.asked {
		if unanswered >= p.sure {
			p.wait = min(max(2*p.wait, growMin), growMax)
			d.stats.Holes++
			c.shrink(dgram.PayloadMin, p.wait)
		}
		return
	}
	p.asked, p.sure = d.now, unanswered+holeSure
	c.emit(wire.LanePriority, 0, nil, true)
}
