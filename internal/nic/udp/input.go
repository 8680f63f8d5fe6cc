package udp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/message"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/reliable"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// receive reads a batch of arrivals from one socket, and more if the batch was full.
// A batch that is not full is probably the last, and another read would cost as much
// as the first.
// It reports whether there were any.
func (d *Device) receive(lane uint8) (some bool) {
	for range recvRounds {
		n := d.receiveBatch(lane)
		some = some || n > 0
		if n < len(d.arrivals) {
			break
		}
	}
	return some
}

// receiveAll reads everything that has arrived at one socket, up to a limit.
func (d *Device) receiveAll(lane uint8) {
	for range recvRoundsAll {
		if d.receiveBatch(lane) == 0 {
			return
		}
	}
}

// receiveBatch reads one batch from a socket, and returns the number of arrivals.
func (d *Device) receiveBatch(lane uint8) int {
	n := d.outs[lane].socket.Recv(d.arrivals[:])
	if n > 0 {
		d.hot[lane] = hotPolls
	}
	for i := range d.arrivals[:n] {
		a := &d.arrivals[i]
		for b := a.Buf[:a.Len]; len(b) > 0; {
			size := min(a.Size, len(b))
			d.meant, d.room = a.To, d.arriving[i]
			d.arrived(lane, a.From, b[:size:size])
			b = b[size:]
		}
		d.replace(i)
	}
	return n
}

// arrived handles one datagram from any sender.
func (d *Device) arrived(lane uint8, from netip.AddrPort, b []byte) {
	kind, _ := wire.KindOf(b)
	switch {
	case kind == wire.KindPacket:
		d.packet(lane, from, b)
	case kind == wire.KindReset:
		d.reset(from, b)
	case lane != wire.LanePriority:
		d.stats.Malformed++
	case kind == wire.KindInit:
		d.asked(from, b)
	case kind != 0 && len(b) >= 8:
		d.answered(from, b, binary.LittleEndian.Uint32(b[4:]))
	default:
		d.stats.Malformed++
	}
}

// packet handles a packet of a connection.
func (d *Device) packet(lane uint8, from netip.AddrPort, b []byte) {
	p, _, err := wire.ParsePacket(b)
	if err != nil || p.Lane != lane {
		d.stats.Malformed++
		return
	}
	c := d.latest
	if c == nil || c.id != p.To {
		c = d.conns[p.To]
		d.latest = c
	}
	if c == nil {
		if answer := d.guard.Reset(d.now, from, b, d.scratch[:0]); len(answer) > 0 {
			d.stats.Resets++
			d.sendBare(lane, d.meant, from, answer)
		}
		return
	}
	if c.state == connDialing || !c.mayComeFrom(lane, from) {
		d.stats.Stray++
		return
	}
	payload, err := c.session.Open(b)
	if err != nil {
		d.unopened(c, err)
		return
	}
	if p.Number >= c.newest[lane] {
		c.newest[lane] = p.Number
		c.cameFrom(lane, from)
		if d.meant.IsValid() {
			c.local = d.meant
		}
	}
	if err := c.heard(lane, payload); err != nil {
		d.stats.Protocol++
		c.fail(fmt.Errorf("udp: %s: %w: %w", c.name, err, nic.ErrProtocol))
	}
}

// unopened counts a packet that is not the other side's, or was received before.
func (d *Device) unopened(c *conn, err error) {
	switch {
	case errors.Is(err, secure.ErrReplayed), errors.Is(err, secure.ErrOld):
		d.stats.Replayed++
		return
	case errors.Is(err, secure.ErrForgeries):
		c.fail(fmt.Errorf("udp: %s: %w", c.name, err))
	}
	d.stats.Forged++
}

// heard handles the payload of an authentic packet.
func (c *conn) heard(lane uint8, payload []byte) error {
	d := c.dev
	c.heardAt, c.unheard = d.now, 0
	if c.state == connAccepted {
		c.state, c.response = connOpen, nil
		for lane := range c.lanes {
			c.notePlace(uint8(lane))
		}
		c.port.report(nic.EventConnected, &nic.ConnEvent{Remote: c.name})
	}
	t, l := &d.transport, &c.lanes[lane]
	segments, err := t.Parse(payload)
	if err != nil {
		return err
	}
	if err := l.TakeAck(d.now, t, c.acked); err != nil {
		return err
	}
	if fresh := l.Arrive(d.now, t); segments != nil {
		if err := c.take(l, segments, fresh); err != nil {
			return err
		}
	}
	if lane == wire.LanePriority && t.Flags&(wire.FlagSegment|wire.FlagAnswer) == wire.FlagAnswer {
		c.showData()
	}
	c.update()
	c.mark()
	return nil
}

// take gives the segments of a packet to the queue. fresh: the first one has not arrived
// before.
func (c *conn) take(l *reliable.Lane[message.Segment], segments []byte, fresh bool) error {
	d := c.dev
	for {
		data, rest, err := wire.ParseSegment(segments, &d.segment)
		if err != nil {
			return err
		}
		if fresh {
			c.busy, c.busyAt = true, d.now
			// The queue keeps the error, and the farewell to send because of it.
			if taken, _ := c.queue.Arrived(&d.segment, data, d.room.loan()); !taken {
				l.Refuse()
			}
		}
		if rest == nil {
			return nil
		}
		segments, fresh = rest, l.ArriveNext(d.now)
	}
}

// reset handles a RESET: a device reports that it does not know a connection.
func (d *Device) reset(from netip.AddrPort, b []byte) {
	m, err := wire.ParseReset(b)
	if err != nil {
		d.stats.Malformed++
		return
	}
	c := d.theirs[theirKey{from, m.To}]
	if c == nil || !secure.SameToken(c.reset, m.Token) {
		d.stats.Stray++
		return
	}
	c.fail(fmt.Errorf("udp: %s does not know the connection any more: %w", c.name, nic.ErrPeerDied))
}
