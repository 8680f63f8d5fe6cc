package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/arena"
	"github.com/viaduct-hpc/viaduct/internal/plugins/guest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/host"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
)

// memory is zeroed memory at a multiple of a page.
func memory(t testing.TB, bytes int) []byte {
	mem, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(mem)) })
	return mem
}

// program is the simplest endpoint for a host.Method.
type program struct {
	took    bool // whether it accepts messages
	arrived int
	latest  []byte
	from    bmi.Addr
	refused bmi.Addr // sender of the latest message that was not accepted
	handler func()   // called within Arrived; may be nil
	wakes   int
}

func (p *program) NewAddr(peer bmi.Peer) bmi.Addr { return bmi.NewHostAddr(peer) }
func (p *program) Wake()                          { p.wakes++ }

func (p *program) ArrivedShared(from bmi.Addr, class bmi.Class, tag bmi.Tag, data []byte) bool {
	return p.Arrived(from, class, tag, data)
}

func (p *program) Arrived(from bmi.Addr, _ bmi.Class, _ bmi.Tag, data []byte) bool {
	if !p.took {
		p.refused = from
		return false
	}
	p.arrived++
	p.from, p.latest = from, append(p.latest[:0], data...)
	if p.handler != nil {
		p.handler()
	}
	return true
}

// mirror is a method that acts at once: sends complete, receives get the latest sent data,
// unexpected messages arrive here.
type mirror struct {
	host    bmi.Host
	patient bool      // sends wait for their receives
	sends   []*bmi.Op // waiting sends
	recvs   []*bmi.Op
	self    bmi.Addr
	sent    [][]byte
}

// image is the one remote endpoint of a mirror.
type image struct{}

func (image) String() string { return "mirror://image" }

func (m *mirror) Info() bmi.Info {
	return bmi.Info{Name: "mirror", MaxExpectedSize: 512 << 10, MaxUnexpectedSize: 16000, MaxPieces: 64, Classes: true}
}

func (m *mirror) Resolve(string) (bmi.Addr, error) {
	if m.self.IsZero() {
		m.self = m.host.NewAddr(image{})
	}
	return m.self, nil
}

func (m *mirror) PostSend(op *bmi.Op) {
	if op.Kind == bmi.KindSendUnexpected {
		m.sent = append(m.sent, append([]byte(nil), op.Bufs[0]...))
	} else if len(m.recvs) == 0 && m.patient {
		m.sends = append(m.sends, op)
		return
	} else if len(m.recvs) > 0 {
		r := m.recvs[0]
		m.recvs = m.recvs[:copy(m.recvs, m.recvs[1:])]
		r.Complete(copy(r.Bufs[0], op.Bufs[0]), nil)
	}
	op.Complete(op.Size, nil)
}

func (m *mirror) PostRecv(op *bmi.Op) {
	m.recvs = append(m.recvs, op)
	if len(m.sends) > 0 {
		s := m.sends[0]
		m.sends = m.sends[1:]
		m.PostSend(s)
	}
}

func (m *mirror) Cancel(op *bmi.Op) {
	for i, r := range m.recvs {
		if r == op {
			m.recvs = append(m.recvs[:i], m.recvs[i+1:]...)
			op.Complete(0, bmi.ErrCancelled)
			return
		}
	}
}

func (m *mirror) Poll() (did bool) {
	for len(m.sent) > 0 && m.host.Arrived(m.self, 1, 2, m.sent[0]) {
		m.sent, did = m.sent[1:], true
	}
	return did
}

func (m *mirror) Close(context.Context) error {
	for _, op := range m.recvs {
		op.Complete(0, bmi.ErrClosed)
	}
	m.recvs = nil
	return nil
}

// pair is a host.Method with a mirror behind it, run by one goroutine.
type pair struct {
	t       testing.TB
	program program
	method  *host.Method
	mirror  *mirror
	engine  *guest.Engine
	arena   *arena.Arena
	shared  []byte
	there   []byte // the memory of the ring to the plugin
	back    []byte // and of the other one
	to      bmi.Addr
	broken  error
	due     time.Duration
	closing func() // runs when the plugin is closed; nil for the normal Close
	over    int
	sizes   int
	err     error // of the latest completed operation
}

const pairRing, pairArena = 64 << 10, 1 << 20

func newPair(t testing.TB) *pair {
	p := &pair{t: t, shared: memory(t, pairArena)}
	p.program.took = true
	var err error
	p.arena, err = arena.New(p.shared)
	require.NoError(t, err)
	p.method = host.New(host.Config{
		Host: &p.program, Info: (&mirror{}).Info(), Name: "mirror", Arena: p.arena,
		Resolve: func(address string) (string, error) { return address, nil },
		Close: func(ctx context.Context) error {
			if p.closing != nil {
				p.closing()
				return nil
			}
			p.turn()
			return p.engine.Close(ctx)
		},
		Broken: func(err error) { p.broken = err },
		Due:    func() time.Duration { return p.due },
	})
	p.attach()
	p.to, err = p.method.Resolve("mirror://image")
	require.NoError(t, err)
	return p
}

// attach starts a plugin.
func (p *pair) attach() {
	in, out := p.attachRaw()
	p.engine = guest.New(guest.Config{In: in, Out: out, Arena: p.shared, Bell: func() {}, Wake: func() {}})
	p.mirror = &mirror{host: p.engine.Host()}
	p.engine.Start(p.mirror)
}

// attachRaw starts a plugin that the test plays with these rings.
func (p *pair) attachRaw() (in *ring.Reader, out *ring.Writer) {
	there, back := memory(p.t, ring.Bytes(pairRing)), memory(p.t, ring.Bytes(pairRing))
	p.there, p.back = there, back
	l := &host.Line{Bell: func() {}}
	var err error
	l.Out, err = ring.NewWriter(there)
	require.NoError(p.t, err)
	in, err = ring.NewReader(there)
	require.NoError(p.t, err)
	out, err = ring.NewWriter(back)
	require.NoError(p.t, err)
	l.In, err = ring.NewReader(back)
	require.NoError(p.t, err)
	p.method.Attach(l)
	return in, out
}

func (p *pair) turn() {
	if _, err := p.engine.Turn(); err != nil {
		p.t.Fatal(err)
	}
}

// step lets both sides make progress.
func (p *pair) step() {
	p.turn()
	p.method.Poll()
	if p.broken != nil {
		p.t.Fatal(p.broken)
	}
}

// op returns an operation with the image as peer.
func (p *pair) op(kind bmi.Kind, bufs ...[]byte) *bmi.Op {
	op := bmi.NewHostOp(func(_ *bmi.Op, size int, err error) { p.over, p.sizes, p.err = p.over+1, p.sizes+size, err })
	op.Kind, op.Bufs, op.Peer = kind, bufs, bmi.HostPeer(p.to)
	for _, b := range bufs {
		op.Size += len(b)
	}
	return op
}

func (p *pair) post(op *bmi.Op) {
	op.Private = nil
	if op.Kind == bmi.KindRecv {
		p.method.PostRecv(op)
	} else {
		p.method.PostSend(op)
	}
}

// messages moves n messages, each by a receive and a send.
func (p *pair) messages(recvs, sends []*bmi.Op) {
	want := p.over + len(recvs) + len(sends)
	for i := range recvs {
		p.post(recvs[i])
		p.post(sends[i])
	}
	for p.over < want {
		p.step()
	}
	if p.err != nil {
		p.t.Fatal(p.err)
	}
}

func (p *pair) ops(n, size int) (recvs, sends []*bmi.Op) {
	for range n {
		recvs = append(recvs, p.op(bmi.KindRecv, make([]byte, size)))
		sends = append(sends, p.op(bmi.KindSend, make([]byte, size)))
	}
	return recvs, sends
}

// BenchmarkMessage measures the cost of a message on both sides, without the way between two cores:
// a receive, a send, and the end of both. Of 4096 most find no room in the ring and wait.
func BenchmarkMessage(b *testing.B) {
	for _, c := range []struct {
		name    string
		n, size int
	}{{"8", 1, 8}, {"8 of 16", 16, 8}, {"8 of 4096", 4096, 8}, {"4096", 1, 4096}, {"65536", 1, 64 << 10}} {
		b.Run(c.name, func(b *testing.B) {
			p := newPair(b)
			recvs, sends := p.ops(c.n, c.size)
			b.ReportAllocs()
			for i := 0; i < b.N; i += c.n {
				p.messages(recvs, sends)
			}
		})
	}
}
