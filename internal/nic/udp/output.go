package udp

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
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
		switch {
		case !c.speaks():
		case !c.pressing():
			c.set()
		case c.send():
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

// pressing reports whether there is something to send now. Usually there is not if only a
// message has arrived: its ack can wait for the answer.
func (c *conn) pressing() bool {
	for lane := range c.lanes {
		l := &c.lanes[lane]
		if l.Losses() > 0 || l.AckDue(c.dev.now) || c.queue.Waiting(lane) {
			return true
		}
	}
	return false
}

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
	o, p := &d.outs[lane], &d.parcel
	for turn := range turnPackets {
		if c.state == connDead {
			return false
		}
		more = turn == turnPackets-1
		if !o.fits(c.path.mtu+headMax) && !d.flush(int(lane)) {
			return true
		}
		p.begin(o.rest(), min(c.path.mtu, gatherMax)-c.overhead())
		switch {
		case l.Losses() > 0:
			c.repeat(lane)
		case l.Room(d.now) > 0:
			c.gather(lane)
		}
		if p.n == 0 {
			more = false
			break
		}
		c.emitParcel(lane)
	}
	if l.AckDue(d.now) {
		c.emit(lane, false)
	}
	return more
}

// repeat puts lost segments into a packet: one, and more if they are small and have the
// next numbers.
func (c *conn) repeat(lane uint8) {
	d, l, p := c.dev, &c.lanes[lane], &c.dev.parcel
	for {
		seq, s, ok := l.Lost(d.now)
		if !ok {
			return
		}
		if p.n == 0 {
			if s.Len() > c.dataMax() {
				c.queue.Fit(int(lane), s, c.dataMax())
			}
		} else if seq != p.next() || s.DataLen() > gatherDataMax || s.Len() > p.room {
			return
		}
		segment := *s
		l.Resent(d.now, seq)
		p.add(c.queue, seq, &segment)
	}
}

// gather puts new segments into a packet: one, and more if they are small whole
// messages. Those that were posted since the last Poll go together.
func (c *conn) gather(lane uint8) {
	d, l, p := c.dev, &c.lanes[lane], &c.dev.parcel
	segment, ok := c.queue.Next(int(lane), c.dataMax())
	for bytes := c.overhead(); ok; bytes = 0 {
		seq := l.Send(d.now, segment, bytes+segment.Len())
		if segment.EndsWrite() && !c.queue.Waiting(int(lane)) {
			l.Ask() // no packet of the other side would carry the ack
		}
		p.add(c.queue, seq, &segment)
		if p.room <= 0 || l.Room(d.now) == 0 {
			return
		}
		segment, ok = c.queue.NextSmall(int(lane), gatherDataMax, p.room)
	}
}

// overhead is the largest size of a packet without its segments, in bytes.
func (c *conn) overhead() int { return leadMax + c.session.Overhead() }

// dataMax is how much data a packet has room for.
func (c *conn) dataMax() int { return c.path.mtu - c.overhead() - wire.SegmentRemoteLen }

// emitParcel sends the packet of d.parcel.
func (c *conn) emitParcel(lane uint8) {
	d := c.dev
	o, t, p := &d.outs[lane], &d.transport, &d.parcel
	t.Clear()
	t.Flags, t.Seq = wire.FlagSegment, uint32(p.first)
	c.lanes[lane].FillAckWithin(d.now, t, rangesRoom)
	head := p.head(wire.Packet{Lane: lane, To: c.theirID}, t)
	body := 0
	for _, piece := range p.body {
		body += len(piece)
	}
	o.take(leadMax - t.Len() - wire.PacketLen + c.session.Room(len(head), body))
	c.seal(lane, head, p.body)
	clear(p.body)
}

// emit sends a packet without a segment: with an ack, and perhaps with a request for an
// answer.
func (c *conn) emit(lane uint8, ask bool) {
	d := c.dev
	o, t := &d.outs[lane], &d.transport
	room := c.session.Room(headMax, 0)
	if !o.fits(room) && !d.flush(int(lane)) {
		return // it will be repeated
	}
	t.Clear()
	c.lanes[lane].FillAck(d.now, t)
	if ask {
		t.Flags |= wire.FlagAnswer
	}
	head := wire.Packet{Lane: lane, To: c.theirID}.Append(o.take(room))
	c.seal(lane, t.Append(head), nil)
}

// seal seals a packet and puts it into the outbox.
func (c *conn) seal(lane uint8, head []byte, body [][]byte) {
	d := c.dev
	o := &d.outs[lane]
	d.hot[lane] = hotPolls
	from := len(o.pieces)
	var err error
	if o.pieces, err = c.session.Seal(o.pieces, head, body); err != nil {
		c.fail(err)
		return
	}
	o.put(dgram.Packet{From: c.local, To: c.remote[lane], Pieces: o.pieces[from:len(o.pieces):len(o.pieces)]}, c)
}
