package reliable

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// item is a segment of the tests: its number in the stream.
type item int

// datagram is one packet on its way.
type datagram struct {
	transport wire.Transport
	item      item
	order     int // counts the transmissions of its sender with a segment, from 1
}

// way carries packets to the other side.
type way interface {
	send(bytes int, deliver func())
}

// A party is one side: a lane with a source of segments, and a clock from the
// world.
type party struct {
	w     *sim.World
	lane  *Lane[item]
	way   way
	peer  *party
	model *model
	timer *sim.Event

	supply  int // segments still to be sent; negative: no end
	sent    item
	size    func() int // bytes of the next segment
	refuse  float64    // chance that an arrival finds no place
	order   int
	bytesIn int // of fresh segments
	acked   func(*item)
	sizes   map[item]int
	err     error
	errAt   time.Duration
}

func newParty(w *sim.World, opts Options, m *model) *party {
	p := &party{w: w, lane: New[item](opts), model: m, sizes: make(map[item]int)}
	p.size = func() int { return p.lane.opts.SegmentBytes }
	p.acked = func(s *item) {
		if p.model != nil {
			p.model.acked(*s)
		}
		delete(p.sizes, *s)
	}
	return p
}

// join connects two parties as peers.
func join(a, b *party, ab, ba way) {
	a.peer, b.peer, a.way, b.way = b, a, ab, ba
}

// arrived takes a packet of the peer.
func (p *party) arrived(d *datagram) {
	now := p.w.Now()
	if p.err != nil {
		return
	}
	if err := p.lane.TakeAck(now, &d.transport, p.acked); err != nil {
		p.fail(err)
		return
	}
	if d.transport.Flags&wire.FlagSegment != 0 && p.peer.model != nil {
		p.peer.model.reached(d.order)
	}
	if p.lane.Arrive(now, &d.transport) {
		if p.w.Chance(p.refuse) {
			p.lane.Refuse()
		} else {
			p.bytesIn += p.peer.sizes[d.item]
			if p.peer.model != nil {
				p.peer.model.delivered(d.item)
			}
		}
	}
	p.pump()
}

func (p *party) fail(err error) {
	p.err, p.errAt = err, p.w.Now()
	p.w.Cancel(p.timer)
}

// pump does all that can be done now, and sets the timer.
func (p *party) pump() {
	now := p.w.Now()
	if p.err != nil {
		return
	}
	for {
		seq, s, ok := p.lane.Lost(now)
		if !ok {
			break
		}
		it := *s
		if p.model != nil {
			p.model.resent(it, p.lane)
		}
		p.lane.Resent(now, seq)
		p.transmit(seq, it)
	}
	for p.supply != 0 && p.lane.Room(now) > 0 {
		p.supply--
		size := p.size()
		it := p.sent
		p.sent++
		p.sizes[it] = size
		if p.model != nil {
			p.model.sent(it)
		}
		p.transmit(p.lane.Send(now, it, size), it)
	}
	if p.lane.AckDue(now) {
		d := &datagram{}
		p.lane.FillAck(now, &d.transport)
		p.carry(d, wire.PacketLen+d.transport.Len())
	}
	p.arm()
}

func (p *party) transmit(seq Seq, it item) {
	p.order++
	if p.model != nil {
		p.model.transmitted(it, p.order)
	}
	d := &datagram{item: it, order: p.order}
	p.lane.FillAckWithin(p.w.Now(), &d.transport, 4)
	d.transport.Flags |= wire.FlagSegment
	d.transport.Seq = uint32(seq)
	p.carry(d, p.sizes[it])
}

// carry sends the packet with its header encoded, so that the format is part of
// the test.
func (p *party) carry(d *datagram, bytes int) {
	peer := p.peer
	head := d.transport.Append(make([]byte, 0, d.transport.Len()+1))
	if d.transport.Flags&wire.FlagSegment != 0 {
		head = append(head, 1)
	}
	p.way.send(bytes, func() {
		if _, err := d.transport.Parse(head); err != nil {
			p.fail(err)
			return
		}
		peer.arrived(d)
	})
}

// arm sets the timer to the lane's deadline.
func (p *party) arm() {
	p.w.Cancel(p.timer)
	p.timer = nil
	at, ok := p.lane.Deadline()
	if !ok {
		return
	}
	p.timer = p.w.At(at, func() {
		if err := p.lane.Expire(p.w.Now()); err != nil {
			p.fail(err)
			return
		}
		p.pump()
	})
}

// linkWay is a link of the world and nothing else.
type linkWay struct{ *sim.Link }

func (l linkWay) send(_ int, deliver func()) {
	l.Send(func(corrupt bool) {
		if !corrupt { // the packet's checksum or tag sees it
			deliver()
		}
	})
}

// A bottleneck is a queue in front of a slow line, in front of a link.
type bottleneck struct {
	w       *sim.World
	rate    float64 // bytes per second
	limit   int     // bytes that may wait
	free    time.Duration
	dropped int
	peak    time.Duration // the longest that a packet waited
	waits   time.Duration // sum of all waits
	passed  int
}

// through is the way of one flow through a bottleneck.
type through struct {
	*bottleneck
	link *sim.Link
}

func (b through) send(bytes int, deliver func()) {
	now := b.w.Now()
	wait := max(b.free-now, 0)
	if wait.Seconds()*b.rate+float64(bytes) > float64(b.limit) {
		b.dropped++
		return
	}
	b.peak = max(b.peak, wait)
	b.waits += wait
	b.passed++
	b.free = now + wait + time.Duration(float64(bytes)/b.rate*1e9)
	b.w.At(b.free, func() { linkWay{b.link}.send(bytes, deliver) })
}

// A model knows how one party's stream must look. It collects errors; nil if
// there are none.
type model struct {
	once    sim.ExactlyOnce[item]
	got     map[item]bool
	ackedN  map[item]bool
	latest  map[item]int // order of the latest transmission of a segment
	maxGot  int          // order of the latest transmission that arrived
	resends uint64
	wrong   []error
}

func newModel() *model {
	return &model{got: make(map[item]bool), ackedN: make(map[item]bool), latest: make(map[item]int)}
}

func (m *model) note(err error) {
	if err != nil && len(m.wrong) < 10 {
		m.wrong = append(m.wrong, err)
	}
}

func (m *model) sent(it item) { m.once.Sent(it) }

func (m *model) transmitted(it item, order int) {
	if m.ackedN[it] {
		m.note(fmt.Errorf("segment %d was sent again after it was acked", it))
	}
	m.latest[it] = order
}

func (m *model) reached(order int) { m.maxGot = max(m.maxGot, order) }

func (m *model) delivered(it item) {
	m.got[it] = true
	m.note(m.once.Delivered(it))
}

// acked: acks are true, and each segment is acked once.
func (m *model) acked(it item) {
	switch {
	case !m.got[it]:
		m.note(fmt.Errorf("segment %d is acked and has not arrived", it))
	case m.ackedN[it]:
		m.note(fmt.Errorf("segment %d was acked twice", it))
	}
	m.ackedN[it] = true
}

// resent: a segment is sent again only after something that was sent later has
// arrived, or as the one segment of a time-out.
func (m *model) resent(it item, l *Lane[item]) {
	m.resends++
	if e := l.ring.at(l.lost.front); !e.probe && m.maxGot <= m.latest[it] {
		m.note(fmt.Errorf("segment %d was sent again and nothing sent later has arrived", it))
	}
	if s := l.stats; m.resends > s.Lost+s.Timeouts {
		m.note(fmt.Errorf("%d retransmissions for %d losses and %d time-outs", m.resends, s.Lost, s.Timeouts))
	}
}
