package host

import (
	"context"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/arena"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// A Line is the memory that a program and a running plugin share, except the arena.
type Line struct {
	Out *ring.Writer
	In  *ring.Reader
	// Bell wakes the plugin, which sleeps.
	Bell func()
}

// Config configures a Method.
type Config struct {
	// Host is the endpoint.
	Host bmi.Host
	// Info is the plugin's. MaxExpectedSize should be at most half of the Arena: with longer
	// messages, two that cross may wait for each other for ever.
	Info bmi.Info
	// Name is the plugin's name for errors.
	Name string
	// Arena is the memory for messages that plugins see, never nil. It outlives them, because
	// memory from Alloc does.
	Arena *arena.Arena
	// Resolve returns the plugin's text for an address: the same text for every address of one
	// remote endpoint.
	Resolve func(address string) (string, error)
	// Check asks the plugin about the remote endpoint of an address (bmi.Checker), InRange whether
	// it lies in a range (bmi.Ranger). They may be nil.
	Check   func(address string) error
	InRange func(address, pattern string) (bool, error)
	// ToPlugin translates an address of this side for the plugin, and FromPlugin does the reverse.
	// nil means no translation.
	ToPlugin, FromPlugin func(address string) string
	// Due returns when an operation that is posted now gives up if there is no plugin (see Expire).
	// If it is nil, the operation waits for ever.
	Due func() time.Duration
	// Close ends the plugin's method. Records that result from it are still read afterwards.
	Close func(context.Context) error
	// Broken is called when the plugin has broken the rules; the Method does not read its records
	// any more. It is called once for a Line, from within a call of the Method, and must not call
	// the Method: Detach comes later, when the process is dead.
	Broken func(error)
}

// Limits of a Method.
const (
	// InlineMax is the largest message that travels in a record, in bytes.
	InlineMax = 8 << 10
	// AddressMax is the longest text of an address, in bytes, and PeersMax the most
	// remote endpoints that a plugin may make known.
	AddressMax, PeersMax = wire.AddressMax, 1 << 20
	// OpsMax is the largest number of operations in progress; a plugin accepts no more.
	OpsMax = 1 << 20
	// RingMin is the record space of the smallest ring for a Method, in bytes: the longest record
	// that it writes fits.
	RingMin = 64 << 10
	// recordsPerPoll limits the work of one Poll.
	recordsPerPoll = 64
	// keptMax limits the memory of messages that the endpoint did not accept, in bytes. Beyond it
	// no records of the plugin are read until the endpoint accepts some.
	keptMax = 32 << 20
)

// MaxUnexpected returns the size of the longest unexpected message that a plugin can pass through
// rings with ringBytes of record space, in bytes.
func MaxUnexpected(ringBytes int) int { return ring.RecordMax(ringBytes) - wire.HeadBytes }

// A Method is a bmi.Method whose work is done by a plugin.
type Method struct {
	cfg         Config
	line        *Line // nil if there is no plugin at present
	rulesBroken bool  // the plugin broke the rules

	ops     table
	lanes   [2]lane     // operations not written to the ring: there was no room, or no plugin; see laneOf
	control []wire.Head // the same for cancels and drops, which go first
	peers   peers

	pieces  []byte  // scratch
	scratch []byte  // an unexpected message; private while its handler reads it
	keeping []*peer // peers with messages that the endpoint did not accept
	kept    int     // bytes of those messages
	copied  uint64  // bytes of messages copied to the arena or from it
	closed  bool
}

var (
	_ bmi.Method    = (*Method)(nil)
	_ bmi.Allocator = (*Method)(nil)
	_ bmi.Dropper   = (*Method)(nil)
	_ bmi.Checker   = (*Method)(nil)
	_ bmi.Ranger    = (*Method)(nil)
)

// New makes a Method without a Line.
func New(cfg Config) *Method {
	m := &Method{cfg: cfg}
	m.laneOf(false).half, m.laneOf(true).half = arena.Lower, arena.Upper
	m.peers.init()
	return m
}

// Attach gives the Method a plugin. The record space of the rings must be at least RingMin bytes.
func (m *Method) Attach(l *Line) {
	if l.Out.RecordMax() < ring.RecordMax(RingMin) {
		panic("internal/plugins/host: the ring to the plugin is too short")
	}
	m.line, m.rulesBroken = l, false
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
		o.lane.ops.Add(o, &o.links)
		return
	}
	switch ok, err := m.writeOp(o); {
	case err != nil:
		m.finish(o, 0, err)
	case !ok:
		o.lane.ops.Add(o, &o.links)
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

// CopiedBytes returns how many bytes of messages were copied to the arena or from it.
func (m *Method) CopiedBytes() uint64 { return m.copied }

// Alloc implements bmi.Allocator. Both processes see the memory.
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
	return make([]byte, size), nil // a message in it is copied, like any other
}

// Free implements bmi.Allocator.
func (m *Method) Free(mem []byte) error {
	if _, ours := m.cfg.Arena.Offset(mem); !ours {
		return nil // it belongs to the garbage collector
	}
	if !m.cfg.Arena.Free(mem) {
		return fmt.Errorf("%w: memory that Alloc did not give, or that was freed before", bmi.ErrInvalid)
	}
	m.unstick()
	return nil
}

// Poll implements bmi.Method.
func (m *Method) Poll() (did bool) {
	if m.line == nil || m.rulesBroken {
		return m.offer()
	}
	did = m.flush()
	did = m.offer() || did
	did = m.readRecords(recordsPerPoll) || did
	if m.line != nil && !m.rulesBroken {
		m.ring()
	}
	return did
}

// Close implements bmi.Method.
func (m *Method) Close(ctx context.Context) error {
	var err error
	if m.line != nil && !m.rulesBroken {
		m.flush()
		err = m.cfg.Close(ctx)
	}
	m.closed = true
	if m.line != nil && !m.rulesBroken {
		m.readRecords(m.line.In.RecordsMax()) // all records that the plugin wrote before are there
	}
	m.line, m.control, m.keeping, m.kept = nil, nil, nil, 0
	m.endAll(bmi.ErrClosed)
	return err
}

// Detach takes the plugin away: operations in the plugin end with err. Operations that were not
// written to the ring wait for the next plugin, and addresses stay valid. The plugin's process must
// be dead, because the memory of its operations is reused.
func (m *Method) Detach(err error) {
	m.line, m.rulesBroken, m.control = nil, false, nil
	for _, o := range m.ops.ops {
		if o.bmi != nil && o.state == stateWritten {
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

// broken stops reading the records of a plugin that broke the rules.
func (m *Method) broken(err error) {
	if m.rulesBroken {
		return
	}
	m.rulesBroken = true
	m.cfg.Broken(fmt.Errorf("plugin %s broke the rules of the rings: %w", m.cfg.Name, err))
}

// finish completes an operation.
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
