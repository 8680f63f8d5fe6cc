package host

import (
	"context"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/plugins/arena"
	"github.com/viaduct-hpc/viaduct/plugins/ring"
	"github.com/viaduct-hpc/viaduct/plugins/wire"
)

// A Line is what a program and a running plugin share, but for the arena.
type Line struct {
	Out *ring.Writer
	In  *ring.Reader
	// Bell wakes the plugin, which sleeps.
	Bell func()
}

// Config is what a Method works with.
type Config struct {
	// Host is the endpoint.
	Host bmi.Host
	// Info is the plugin's. MaxExpectedSize should be half of the Arena at most: of
	// longer messages two that cross may wait for each other for ever.
	Info bmi.Info
	// Name is the plugin's, for errors.
	Name string
	// Arena is the memory for messages that plugins see, never nil. It stays while they
	// come and go, for so does what Alloc gave out.
	Arena *arena.Arena
	// Resolve is what the plugin makes of an address: the same text for each address
	// of one remote endpoint.
	Resolve func(address string) (string, error)
	// Check is what the plugin says of the remote endpoint of an address (bmi.Checker),
	// InRange whether it lies in a range (bmi.Ranger). Nil: it says nothing of that.
	Check   func(address string) error
	InRange func(address, pattern string) (bool, error)
	// ToPlugin makes of an address of this side what the plugin calls it, FromPlugin the
	// reverse. Nil: they are the same.
	ToPlugin, FromPlugin func(address string) string
	// Due is the time at which an operation is given up that is posted now and finds no
	// plugin (see Expire). Nil: it waits.
	Due func() time.Duration
	// Close ends the plugin's method; what comes of it is still heard afterwards.
	Close func(context.Context) error
	// Broken is told that the plugin broke the rules. The Method does not listen to
	// it any more. It is called once for a Line, from within a call of the Method, and
	// calls none itself: Detach comes later, once the process is dead.
	Broken func(error)
}

// Limits of a Method.
const (
	// InlineMax is the largest message that travels in a record, in bytes.
	InlineMax = 8 << 10
	// AddressMax is the longest text of an address, in bytes, and PeersMax the most
	// remote endpoints that a plugin may make known.
	AddressMax, PeersMax = wire.AddressMax, 1 << 20
	// OpsMax is the most operations that are not over; a plugin takes no more.
	OpsMax = 1 << 20
	// RingMin is the room for records, in bytes, of the smallest ring that a Method
	// works with: the longest record that it writes fits.
	RingMin = 64 << 10
	// recordsPerPoll bounds the work of one Poll.
	recordsPerPoll = 64
	// keptMax bounds the memory of messages that the endpoint did not take, in bytes.
	// With more of them the plugin is not listened to until the endpoint takes some.
	keptMax = 32 << 20
)

// MaxUnexpected is the longest unexpected message that a plugin can hand over through
// rings with so much room for records, in bytes.
func MaxUnexpected(ringBytes int) int { return ring.RecordMax(ringBytes) - wire.HeadBytes }

// A Method is a bmi.Method whose work a plugin does.
type Method struct {
	cfg  Config
	line *Line // nil: there is no plugin at present
	deaf bool  // the plugin broke the rules

	ops     table
	lanes   [2]lane     // not said: there was no room, or no plugin; see laneOf
	control []wire.Head // the same, of cancels and drops, which go first
	peers   peers

	pieces  []byte  // scratch
	scratch []byte  // a message that arrived: private, while its handler reads it
	keeping []*peer // of which the endpoint did not take all
	kept    int     // bytes of what it did not take
	closed  bool
}

var (
	_ bmi.Method    = (*Method)(nil)
	_ bmi.Allocator = (*Method)(nil)
	_ bmi.Dropper   = (*Method)(nil)
	_ bmi.Checker   = (*Method)(nil)
	_ bmi.Ranger    = (*Method)(nil)
)

// New makes a Method, which has no Line yet.
func New(cfg Config) *Method {
	m := &Method{cfg: cfg}
	m.laneOf(false).half, m.laneOf(true).half = arena.Lower, arena.Upper
	m.peers.init()
	return m
}

// Attach gives the Method a plugin. The rings have room for RingMin bytes at least.
func (m *Method) Attach(l *Line) {
	if l.Out.RecordMax() < ring.RecordMax(RingMin) {
		panic("plugins/host: the ring to the plugin is too short")
	}
	m.line, m.deaf = l, false
	m.unstick()
	m.eachWaiting(func(o *op) { o.due = 0 })
}

// Info implements bmi.Method.
func (m *Method) Info() bmi.Info { return m.cfg.Info }

// PostSend implements bmi.Method.
func (m *Method) PostSend(b *bmi.Op) { m.post(b) }

// PostRecv implements bmi.Method.
func (m *Method) PostRecv(b *bmi.Op) { m.post(b) }

func (m *Method) post(b *bmi.Op) {
	p, ok := b.Peer.(*peer)
	switch {
	case m.closed:
		b.Complete(0, bmi.ErrClosed)
		return
	case !ok || p.dropped:
		b.Complete(0, fmt.Errorf("%w: %v", bmi.ErrDropped, b.Peer))
		return
	case m.ops.live >= OpsMax:
		b.Complete(0, fmt.Errorf("%w: %d operations with plugin %s", bmi.ErrAgain, OpsMax, m.cfg.Name))
		return
	}
	o := m.ops.add(b, p, m.laneOf(b.Kind == bmi.KindRecv))
	b.Private = o
	if m.line == nil {
		m.delay(o)
	}
	if !o.lane.empty() {
		o.lane.ops.Add(o)
		return
	}
	switch ok, err := m.say(o); {
	case err != nil:
		m.finish(o, 0, err)
	case !ok:
		o.lane.ops.Add(o)
	default:
		m.ring()
	}
}

// ring wakes the plugin if it sleeps.
func (m *Method) ring() {
	if m.line.Out.Asleep() {
		m.line.Bell()
	}
}

// Cancel implements bmi.Method.
func (m *Method) Cancel(b *bmi.Op) {
	o, ok := b.Private.(*op)
	if !ok {
		return
	}
	if o.state == stateWaiting {
		m.giveUp(o, bmi.ErrCancelled)
		return
	}
	m.order(wire.Head{Kind: wire.KindCancel, Op: o.id()})
}

// Alloc implements bmi.Allocator: memory that both processes see.
func (m *Method) Alloc(size int) ([]byte, error) {
	switch {
	case size < 0:
		return nil, fmt.Errorf("%w: %d bytes of memory", bmi.ErrInvalid, size)
	case size == 0:
		return []byte{}, nil
	}
	if mem, ok := m.cfg.Arena.Alloc(size); ok {
		return mem, nil
	}
	return make([]byte, size), nil // it is copied, like any other
}

// Free implements bmi.Allocator.
func (m *Method) Free(mem []byte) error {
	if _, ours := m.cfg.Arena.Offset(mem); !ours {
		return nil // it is the collector's
	}
	if !m.cfg.Arena.Free(mem) {
		return fmt.Errorf("%w: memory that Alloc did not give, or that was freed before", bmi.ErrInvalid)
	}
	m.unstick()
	return nil
}

// Poll implements bmi.Method.
func (m *Method) Poll() (did bool) {
	if m.line == nil || m.deaf {
		return m.offer()
	}
	did = m.flush()
	did = m.offer() || did
	did = m.hearSome(recordsPerPoll) || did
	if m.line != nil && !m.deaf {
		m.ring()
	}
	return did
}

// Close implements bmi.Method.
func (m *Method) Close(ctx context.Context) error {
	var err error
	if m.line != nil && !m.deaf {
		m.flush()
		err = m.cfg.Close(ctx)
	}
	m.closed = true
	if m.line != nil && !m.deaf {
		m.hearSome(m.line.In.RecordsMax()) // what it said before is there by now
	}
	m.line, m.control, m.keeping, m.kept = nil, nil, nil, 0
	m.endAll(bmi.ErrClosed)
	return err
}

// Detach takes the plugin away: what it held ends with err. Operations that it has not
// heard of wait for the next one, and so do addresses. The plugin's process is dead by
// then, for the memory of what it held is used again.
func (m *Method) Detach(err error) {
	m.line, m.deaf, m.control = nil, false, nil
	for _, o := range m.ops.ops {
		if o.bmi != nil && o.state == stateSaid {
			m.finish(o, 0, err)
		}
	}
	m.peers.forget()
	m.eachWaiting(func(o *op) {
		if o.peer.dropped {
			m.giveUp(o, fmt.Errorf("%w: %s", bmi.ErrDropped, o.peer.text))
		} else {
			m.delay(o)
		}
	})
}

// endAll ends all operations.
func (m *Method) endAll(err error) {
	m.GiveUp(err)
	for _, o := range m.ops.ops {
		if o.bmi != nil {
			m.finish(o, 0, err)
		}
	}
}

// broken stops listening to a plugin that broke the rules.
func (m *Method) broken(err error) {
	if m.deaf {
		return
	}
	m.deaf = true
	m.cfg.Broken(fmt.Errorf("plugin %s broke the rules of the rings: %w", m.cfg.Name, err))
}

// finish hands an operation back.
func (m *Method) finish(o *op, size int, err error) {
	if o.staged != nil {
		m.cfg.Arena.Free(o.staged)
		o.lane.staged--
		m.unstick()
	}
	b := o.bmi
	m.ops.remove(o)
	b.Private = nil
	b.Complete(size, err)
}
