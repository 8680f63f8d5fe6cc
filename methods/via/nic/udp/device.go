package udp

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/names"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/message"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/reliable"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// A Device is one NIC: two sockets, and the connections that share them.
type Device struct {
	// What every Poll touches comes first.
	outs      [wire.Lanes]outbox
	arrivals  []dgram.Arrival
	transport wire.Transport
	segment   wire.Segment
	pieces    [][]byte
	ready     queue.FIFO[conn, *conn] // with something to send, each at most once
	events    []nic.Event
	eventHead int
	conns     map[uint32]*conn // by our id
	theirs    map[theirKey]*conn
	wheel     reliable.Wheel[conn]
	now       time.Duration // of the present call
	entered   bool          // within Poll: what is posted goes out at its end
	eager     bool          // something was sent at once since the last Poll
	dataHot   int           // Polls until the data lane counts as quiet
	round     uint          // of Polls with a quiet data lane
	meant     netip.Addr    // of ours, where the packet at hand was sent to; if it is known
	scratch   [wire.InitBytes]byte

	opts      Provider
	clock     func() time.Duration
	log       *slog.Logger
	datagrams dgram.Device
	sleeper   dgram.Sleeper // datagrams, if its owner can sleep; else nil
	guard     *secure.Guard
	prober    dgram.Prober // nil: datagrams hears nothing
	probing   int          // connections that wait for what it hears
	lookups   names.Lookups[*conn]
	name      string // LocalAddr
	listens   bool

	memory    memory
	pool      *message.Pool
	ports     map[*Port]struct{}
	portsMade uint64
	requests  map[nic.RequestID]*request
	requestID nic.RequestID
	buffers   *buffer // free ones
	spare     int     // of those; ≤ sparesMax
	lent      int     // others
	stats     Stats
	past      linkCount     // of connections that are no more
	warnAt    time.Duration // of the next line about a refused request
	closed    bool
}

var _ nic.Device = (*Device)(nil)

func newDevice(p Provider, cfg nic.Config, k keys, datagrams dgram.Device) (*Device, error) {
	d := &Device{
		opts: p, clock: cfg.Clock, log: cfg.Log, datagrams: datagrams,
		listens:  cfg.Listen != "",
		conns:    make(map[uint32]*conn),
		theirs:   make(map[theirKey]*conn),
		pool:     message.NewPool(),
		ports:    make(map[*Port]struct{}),
		requests: make(map[nic.RequestID]*request),
		arrivals: make([]dgram.Arrival, recvBatch),
	}
	room := make([]byte, recvBatch*dgram.RoomMax)
	for i := range d.arrivals {
		d.arrivals[i].Buf, room = room[:dgram.RoomMax:dgram.RoomMax], room[dgram.RoomMax:]
	}
	if err := d.memory.init(p.Random); err != nil {
		return nil, err
	}
	if err := d.openSockets(cfg.Listen); err != nil {
		return nil, err
	}
	wake := func() {}
	if d.sleeper, _ = datagrams.(dgram.Sleeper); d.sleeper != nil {
		wake = d.sleeper.Wake
	}
	d.lookups.Start(wake)
	d.prober, _ = datagrams.(dgram.Prober)
	var err error
	d.guard, err = secure.NewGuard(secure.Config{
		Key: k.shared, Identity: k.identity, Random: p.Random, Listening: d.listens, Name: d.name, Place: d.place(),
	})
	return d, err
}

// Caps implements nic.Device.
func (d *Device) Caps() nic.Caps {
	return nic.Caps{
		InlineBytesMax:   nic.InlineMax,
		MTUBytes:         MTUBytes,
		SegmentsMax:      SegmentsMax,
		RecvDepthMax:     RecvDepthMax,
		SendDepthMax:     SendDepthMax,
		LoansRecv:        true,
		UnregisteredSend: true,
		RDMAWrite:        true,
		RDMARead:         true,
		RDMABytesMax:     RDMABytesMax,
		Reliability:      nic.ReliableReception,
	}
}

// LocalAddr implements nic.Device.
func (d *Device) LocalAddr() string { return d.name }

// Register implements nic.Device.
func (d *Device) Register(mem []byte, access nic.Access, tag nic.ProtectionTag) (nic.Handle, error) {
	if d.closed {
		return 0, nic.ErrClosed
	}
	return d.memory.register(mem, access, tag)
}

// Deregister implements nic.Device.
func (d *Device) Deregister(h nic.Handle) error {
	if d.closed {
		return nil
	}
	return d.memory.deregister(h)
}

// Poll implements nic.Device: what arrived, what is due, what is to be sent, in
// this order.
func (d *Device) Poll(out []nic.Event) int {
	if d.closed {
		return 0
	}
	d.now, d.entered, d.eager = d.clock(), true, false
	d.receive(wire.LanePriority)
	if d.looksAtData() {
		d.receive(wire.LaneData)
	}
	if d.lookups.Some() {
		d.found()
	}
	if d.probing > 0 {
		d.hearAbsent()
	}
	d.expire()
	d.transmit()
	d.entered = false
	return d.handOut(out)
}

// looksAtData tells whether this Poll asks the data lane's socket: always while there
// is traffic, and now and then if not, for asking costs as much as the rest of a Poll.
// Where time is simulated nothing may wait for a Poll that may not come.
func (d *Device) looksAtData() bool {
	if d.dataHot > 0 {
		d.dataHot--
		return true
	}
	d.round++
	return d.sleeper == nil || d.round%dataEvery == 0
}

// expire does what is due, once everything that has arrived was taken: an answer that
// waits in a socket is not late, however long nobody looked.
func (d *Device) expire() {
	if at, ok := d.wheel.Next(); ok && at <= d.now {
		for lane := range d.outs {
			d.receiveAll(uint8(lane))
		}
	}
	d.wheel.Advance(d.now, (*conn).expire)
}

// push reports an event. Where nobody ever takes all of them, those that are gone must
// make room.
func (d *Device) push(ev nic.Event) {
	if len(d.events) == cap(d.events) && d.eventHead > len(d.events)/2 {
		n := copy(d.events, d.events[d.eventHead:])
		clear(d.events[n:])
		d.events, d.eventHead = d.events[:n], 0
	}
	d.events = append(d.events, ev)
}

// handOut gives the oldest events to whoever polls.
func (d *Device) handOut(out []nic.Event) int {
	n := copy(out, d.events[d.eventHead:])
	clear(d.events[d.eventHead:][:n])
	if d.eventHead += n; d.eventHead == len(d.events) {
		d.events, d.eventHead = d.events[:0], 0
	}
	return n
}

// NextDeadline implements nic.Device.
func (d *Device) NextDeadline() (at time.Duration, ok bool) {
	if d.closed {
		return 0, false
	}
	if d.pressing() {
		return 0, true
	}
	return d.wheel.Next()
}

// pressing tells whether something waits for the next Poll. Where room in a socket ends
// Sleep, what waits for such room does not.
func (d *Device) pressing() bool {
	return len(d.events) > 0 || d.lookups.Some() || !d.ready.Empty() && (d.sleeper == nil || !d.stuck())
}

// stuck tells whether a socket took no more of what its connections had for it.
func (d *Device) stuck() bool {
	for lane := range d.outs {
		if d.outs[lane].full {
			return true
		}
	}
	return false
}

// Close implements nic.Device. A device that can sleep waits until what it sent is
// acknowledged, for Provider.CloseDrain at most, and says what was not. For its farewells
// it waits for closeByeMax only: a peer that misses one finds out by itself.
func (d *Device) Close() error {
	if d.closed {
		return nic.ErrClosed
	}
	d.now = d.clock()
	// In the order of opening and asking, as simulations repeat what happens exactly.
	for _, p := range slices.SortedFunc(maps.Keys(d.ports), (*Port).compare) {
		p.Disconnect()
	}
	for _, id := range slices.Sorted(maps.Keys(d.requests)) {
		_ = d.Reject(id, nil)
	}
	d.lookups.Stop()
	err := d.drain()
	d.closed = true
	for p := range d.ports {
		p.queue.Close()
	}
	d.events = nil
	return errors.Join(err, d.datagrams.Close())
}

// drain goes on until every connection that is leaving has left.
func (d *Device) drain() error {
	s := d.sleeper
	if d.opts.CloseDrain < 0 {
		s = nil
	}
	until, bye := d.now+d.opts.CloseDrain, d.now+closeByeMax
	var events [64]nic.Event
	for {
		d.Poll(events[:])
		said, delivered := d.drained()
		if s == nil || said || delivered && d.now >= bye {
			return nil
		}
		if d.now >= until {
			return d.undrained()
		}
		wait := until - d.now
		if delivered {
			wait = bye - d.now
		}
		if at, ok := d.NextDeadline(); ok {
			wait = min(wait, max(at-d.now, 0))
		}
		if s.Arm() {
			s.Sleep(wait)
		}
		s.Disarm()
	}
}

// drained tells whether every connection has said everything, and whether every
// message was delivered that its owner takes for sent.
func (d *Device) drained() (said, delivered bool) {
	said, delivered = true, true
	for _, c := range d.conns {
		if c.state == connLeaving && !c.left {
			said = false
			delivered = delivered && !c.queue.Undelivered()
		}
	}
	return said, delivered
}

// undrained says what was sent and not acknowledged.
func (d *Device) undrained() error {
	packets, peers, one := 0, 0, ""
	for _, c := range d.conns {
		if c.state != connLeaving || c.left {
			continue
		}
		peers, one = peers+1, max(one, c.name)
		for lane := range c.lanes {
			c.lanes[lane].Unacked(func(*message.Segment) { packets++ })
		}
	}
	return fmt.Errorf("udp: closed with %d packets to %d peers not acknowledged, %s among them: %w",
		packets, peers, one, nic.ErrTimeout)
}
