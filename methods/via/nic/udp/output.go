package udp

import (
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/message"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// posted sends what was just posted: at once if it is the first post since the last
// Poll, otherwise with the next Poll, which comes soon.
func (d *Device) posted(c *conn) {
	c.mark()
	if d.entered || d.eager {
		return
	}
	d.eager = true
	d.now = d.clock()
	d.transmit()
}

// transmit gives every connection with something to send its turn.
func (d *Device) transmit() {
	for lane := range d.outs {
		if d.outs[lane].full && !d.flush(lane) && lane == wire.LanePriority {
			return
		}
	}
	last := d.ready.Tail()
	for c := d.ready.Pop(); c != nil; c = d.ready.Pop() {
		c.inReady = false
		if c.speaks() && c.send() {
			c.mark()
		}
		if c == last {
			break
		}
	}
	for lane := range d.outs {
		d.flush(lane)
	}
}

// flush sends the packets in a lane's outbox.
func (d *Device) flush(lane int) bool {
	o := &d.outs[lane]
	return o.n == 0 || o.flush(d.tooBig)
}

// speaks reports whether the connection may send packets of its own.
func (c *conn) speaks() bool { return c.state == connOpen || c.state == connLeaving }

// send gives both lanes a turn. It reports whether more can be sent now.
func (c *conn) send() (more bool) {
	c.grow()
	for lane := range c.lanes {
		more = c.sendLane(uint8(lane)) || more
	}
	c.set()
	return more
}

// sendLane sends lost segments, then new ones, then an ack if it is due.
func (c *conn) sendLane(lane uint8) (more bool) {
	d, l := c.dev, &c.lanes[lane]
	o := &d.outs[lane]
	for turn := range turnPackets {
		if c.state == connDead {
			return false
		}
		more = turn == turnPackets-1
		if !o.fits(c.path.mtu+headMax) && !d.flush(int(lane)) {
			return true
		}
		if seq, s, ok := l.Lost(d.now); ok {
			if s.Len() > c.dataMax() {
				c.queue.Fit(int(lane), s, c.dataMax())
			}
			segment := *s
			l.Resent(d.now, seq)
			c.emit(lane, uint32(seq), &segment, false)
			continue
		}
		if l.Room(d.now) == 0 {
			more = false
			break
		}
		segment, ok := c.queue.Next(int(lane), c.dataMax())
		if !ok {
			more = false
			break
		}
		seq := l.Send(d.now, segment, c.overhead()+segment.Len())
		if segment.EndsWrite() && !c.queue.Waiting(int(lane)) {
			l.Ask() // no packet of the other side would carry the ack
		}
		c.emit(lane, uint32(seq), &segment, false)
	}
	if l.AckDue(d.now) {
		c.emit(lane, 0, nil, false)
	}
	return more
}

// overhead is the largest size of a packet without its segment, in bytes.
func (c *conn) overhead() int {
	return wire.PacketLen + wire.TransportLen + rangesRoom*wire.RangeLen + c.session.Overhead()
}

// dataMax is how much data a packet has room for.
func (c *conn) dataMax() int { return c.path.mtu - c.overhead() - wire.SegmentRemoteLen }

// emit assembles one packet: with a segment, or with an ack alone, and perhaps with
// a request for an answer.
func (c *conn) emit(lane uint8, seq uint32, s *message.Segment, ask bool) {
	d := c.dev
	o, t := &d.outs[lane], &d.transport
	ranges, size := wire.RangesMax, 0
	if s != nil {
		ranges, size = rangesRoom, s.DataLen()
	}
	room := c.session.Room(headMax, size)
	if !o.fits(room) && !d.flush(int(lane)) {
		return // an ack or a probe, which will be repeated; segments were checked before
	}
	t.Clear()
	body := d.pieces[:0]
	if s != nil {
		t.Flags, t.Seq = wire.FlagSegment, seq
	}
	c.lanes[lane].FillAckWithin(d.now, t, ranges)
	if ask {
		t.Flags |= wire.FlagAnswer
	}
	head := o.take(room)
	head = wire.Packet{Lane: lane, To: c.theirID}.Append(head)
	head = t.Append(head)
	if s != nil {
		head, body = c.queue.Append(head, body, s)
		d.pieces = body[:0] // it may have grown
	}
	if lane == wire.LaneData {
		d.dataHot = dataPolls
	}
	from := len(o.pieces)
	var err error
	if o.pieces, err = c.session.Seal(o.pieces, head, body); err != nil {
		c.fail(err)
		return
	}
	clear(body)
	o.put(dgram.Packet{From: c.local, To: c.remote[lane], Pieces: o.pieces[from:len(o.pieces):len(o.pieces)]}, c)
}
