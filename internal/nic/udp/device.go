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
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/message"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/internal/timers"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A Device is one NIC: two sockets, and the connections that share them.
type Device struct {
	// The fields that every Poll uses come first.
	outs      [wire.Lanes]outbox
	arrivals  [recvBatch]dgram.Arrival
	arriving  [recvBatch]*room // the memory of each
	transport wire.Transport
	segment   wire.Segment
	parcel    parcel                  // the packet that is being made
	ready     queue.FIFO[conn, *conn] // with something to send, each at most once
	events    []nic.Event
	eventHead int
	conns     map[uint32]*conn // by our id
	latest    *conn            // of the latest packet; nil or in conns
	theirs    map[theirKey]*conn
	wheel     timers.Wheel[conn, *conn]
	now       time.Duration   // of the present call
	entered   bool            // within Poll: posted packets go out at its end
	eager     bool            // a packet was sent at once since the last Poll
	hot       [wire.Lanes]int // Polls until a lane counts as quiet
	round     uint            // counts Polls
	idle      bool            // the latest look at the sockets found nothing
	room      *room           // the room that holds the current packet
	meant     netip.Addr      // the address of this machine to which the current packet was sent, if known
	scratch   [wire.InitBytes]byte

	opts      Provider
	clock     func() time.Duration
	log       *slog.Logger
	timedOut  func(remote string)
	datagrams dgram.Device
	sleeper   dgram.Sleeper // datagrams, if it supports sleeping; else nil
	guard     *secure.Guard
	prober    dgram.Prober // nil: datagrams cannot report absent peers
	probing   int          // connections that wait for its report
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
	spare     int     // number of free buffers; ≤ sparesMax
	lent      int     // number of lent buffers
	rooms     *room   // free ones
	roomsLent int     // rooms with lent messages; ≤ roomsLentMax
	stats     Stats
	past      linkCount     // of connections that have ended
	warnAt    time.Duration // when the next refused request may be logged
	closed    bool
}

var _ nic.Device = (*Device)(nil)

func newDevice(p Provider, cfg nic.Config, k keys, datagrams dgram.Device) (*Device, error) {
	d := &Device{
		opts: p, clock: cfg.Clock, log: cfg.Log, timedOut: cfg.TimedOut, datagrams: datagrams,
		listens:  cfg.Listen != "",
		conns:    make(map[uint32]*conn),
		theirs:   make(map[theirKey]*conn),
		pool:     message.NewPool(),
		ports:    make(map[*Port]struct{}),
		requests: make(map[nic.RequestID]*request),
	}
	for i := range d.arrivals {
		d.use(i, d.newRoom())
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

// Poll implements nic.Device. It handles arrivals, then timers, then packets to send.
func (d *Device) Poll(out []nic.Event) int {
	if d.closed {
		return 0
	}
	d.now, d.entered, d.eager = d.clock(), true, false
	if waiting := len(d.events) - d.eventHead; waiting == 0 || waiting < len(out) {
		d.look()
	} // else the events that wait fill out already
	d.transmit()
	d.entered = false
	return d.handOut(out)
}

// look handles packets that have arrived and timers that are due.
func (d *Device) look() {
	d.round++
	some := false
	for lane := range d.outs {
		if d.looksAt(lane) && d.receive(uint8(lane)) {
			some = true
		}
	}
	d.idle = !some
	if d.lookups.Some() {
		d.found()
	}
	if d.probing > 0 {
		d.hearAbsent()
	}
	d.expire()
}

// looksAt reports whether this Poll reads the socket of a lane: always while there is
// traffic on it, and otherwise only now and then, because reading costs as much as the rest
// of a Poll. A small message must not wait behind large ones, though, so the priority lane
// is left out only by a Poll that comes soon after another: one that found nothing. In
// simulated time every Poll reads both, because there may be no later Poll.
func (d *Device) looksAt(lane int) bool {
	if d.hot[lane] > 0 {
		d.hot[lane]--
		return true
	}
	switch {
	case d.sleeper == nil:
		return true
	case lane == wire.LaneData:
		return d.round%dataEvery == 0
	}
	return d.hot[wire.LaneData] == 0 || !d.idle || d.round%priorityEvery == 0
}

// expire runs due timers, once everything that has arrived was read: an answer that waits
// in a socket is not late, however long ago the last Poll was.
func (d *Device) expire() {
	if at, ok := d.wheel.Next(); ok && at <= d.now {
		for lane := range d.outs {
			d.receiveAll(uint8(lane))
		}
	}
	d.wheel.Advance(d.now, (*conn).expire)
}

// push reports an event. If the owner never takes all events, the room of those already
// taken must be reused.
func (d *Device) push(ev nic.Event) {
	if len(d.events) == cap(d.events) && d.eventHead > len(d.events)/2 {
		n := copy(d.events, d.events[d.eventHead:])
		clear(d.events[n:])
		d.events, d.eventHead = d.events[:n], 0
	}
	d.events = append(d.events, ev)
}

// handOut returns the oldest events to the owner.
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

// pressing reports whether something waits for the next Poll. Packets that wait for room
// in a socket do not count if such room ends Sleep.
func (d *Device) pressing() bool {
	return len(d.events) > 0 || d.lookups.Some() || !d.ready.Empty() && (d.sleeper == nil || !d.stuck())
}

// stuck reports whether a socket is full.
func (d *Device) stuck() bool {
	for lane := range d.outs {
		if d.outs[lane].full {
			return true
		}
	}
	return false
}

// Close implements nic.Device. A device that can sleep waits until everything it sent is
// acknowledged, at most for Provider.CloseDrain, and otherwise returns an error. For its
// farewells it waits only for closeByeMax: a peer that misses a farewell notices the end
// by itself.
func (d *Device) Close() error {
	if d.closed {
		return nic.ErrClosed
	}
	d.now = d.clock()
	// In the order of opening and asking, because simulations must be repeatable.
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

// drain polls until every leaving connection has left.
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

// drained reports whether every connection has sent everything, and whether every message
// that its owner believes sent was delivered.
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

// undrained returns an error about the packets sent and not acknowledged.
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
