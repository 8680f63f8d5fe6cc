package inbox_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/buffers"
	"github.com/viaduct-hpc/viaduct/internal/inbox"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/peer"
)

// TestModel does random things to an inbox and to lists that are walked in order, and compares
// what completes.
func TestModel(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		m := newModel(t, seed)
		for range 4000 {
			m.step()
			m.compare()
		}
		m.end()
	})
}

const (
	modelPeers = 3
	modelTags  = 3
	modelBytes = 40 // of the longest message or receive
)

// model is an inbox and what should be in it.
type model struct {
	t       *testing.T
	rng     *rand.Rand
	in      *inbox.Inbox
	buffers buffers.Pool
	errors  bmi.ErrorCounts
	want    bmi.ErrorCounts
	peers   [modelPeers]modelPeer
	serial  byte
}

type modelPeer struct {
	inbox.Peer
	count bmi.Traffic
	want  bmi.Traffic
	recvs []*modelRecv
	early []*modelMessage // in order of arrival
	open  []*modelMessage // begun, and neither ended nor cut
}

type modelRecv struct {
	op   *bmi.Op
	tag  int
	bufs [][]byte
	msg  *modelMessage // that arrives; nil: posted
	ends int
	size int
	err  error
}

type modelMessage struct {
	tag       int
	data      []byte
	arrived   int
	msg       *inbox.Message
	announced bool
	buffered  bool
	whole     bool
	recv      *modelRecv
}

var (
	errCut  = errors.New("cut")
	errFail = errors.New("failed")
)

func newModel(t *testing.T, seed uint64) *model {
	m := &model{t: t, rng: rand.New(rand.NewPCG(seed, 0))}
	m.in = inbox.New(inbox.Options{Seed: seed, EagerBytes: modelBytes / 2, Buffers: &m.buffers, Errors: &m.errors})
	for i := range m.peers {
		p := &m.peers[i]
		p.Init(peer.ID(i+1), bmi.NewHostAddr(peerName(fmt.Sprintf("test://%d", i))), &p.count)
	}
	return m
}

type peerName string

func (n peerName) String() string { return string(n) }

func (m *model) step() {
	p := &m.peers[m.rng.IntN(modelPeers)]
	tag, size := m.rng.IntN(modelTags), m.rng.IntN(modelBytes+1)
	switch m.rng.IntN(16) {
	case 0, 1, 2, 3:
		m.post(p, tag, size)
	case 4, 5:
		m.deliver(p, tag, size)
	case 6, 7:
		m.begin(p, tag, size)
	case 8, 9, 10:
		m.goOn(p)
	case 11:
		m.announce(p, tag, size)
	case 12:
		m.cancel(p)
	case 13:
		m.withdraw(p)
	case 14:
		m.cut(p)
	case 15:
		if m.rng.IntN(10) == 0 {
			m.lose(p)
		}
	}
}

// pieces cuts memory at random.
func (m *model) pieces(b []byte) (bufs [][]byte) {
	for m.rng.IntN(3) == 0 && len(b) > 0 {
		n := m.rng.IntN(len(b) + 1)
		bufs, b = append(bufs, b[:n]), b[n:]
	}
	return append(bufs, b)
}

func (m *model) message(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		m.serial++
		data[i] = m.serial
	}
	return data
}

func (m *model) post(p *modelPeer, tag, size int) {
	v := &modelRecv{tag: tag, bufs: m.pieces(make([]byte, size))}
	v.op = bmi.NewHostOp(func(_ *bmi.Op, size int, err error) { v.ends, v.size, v.err = v.ends+1, size, err })
	v.op.Kind, v.op.Tag, v.op.Bufs, v.op.Size = bmi.KindRecv, bmi.Tag(tag), v.bufs, size
	i := slices.IndexFunc(p.early, func(e *modelMessage) bool { return e.tag == tag })
	require.Equal(m.t, i >= 0, m.in.Has(&p.Peer, bmi.Tag(tag)))
	owner := m.in.Post(&p.Peer, v.op)
	if i < 0 {
		require.Nil(m.t, owner)
		p.recvs = append(p.recvs, v)
		return
	}
	e := p.early[i]
	p.early = slices.Delete(p.early, i, i+1)
	switch {
	case e.announced:
		require.Same(m.t, e, owner)
		require.Zero(m.t, v.ends)
		require.Nil(m.t, v.op.Private, "the receive is the caller's")
	case len(e.data) > size:
		m.truncated(v, len(e.data))
		m.ownerOf(e, owner)
	case e.whole:
		m.ownerOf(e, owner)
		m.completed(p, v, e.data)
	default:
		m.ownerOf(e, owner)
		e.recv, v.msg = v, e
		p.recvs = append(p.recvs, v)
	}
}

// ownerOf: Post returns the owner of a message that is still arriving.
func (m *model) ownerOf(e *modelMessage, owner any) {
	if e.whole {
		require.Nil(m.t, owner)
	} else {
		require.Same(m.t, e, owner)
	}
}

func (m *model) completed(p *modelPeer, v *modelRecv, data []byte) {
	p.want.MessagesReceived++
	p.want.BytesReceived += uint64(len(data))
	if len(data) > modelBytes/2 {
		p.want.RendezvousReceived++
	} else {
		p.want.EagerReceived++
	}
	require.Equal(m.t, 1, v.ends)
	require.NoError(m.t, v.err)
	require.Equal(m.t, len(data), v.size)
	var got []byte
	for _, b := range v.bufs {
		got = append(got, b...)
	}
	require.Equal(m.t, string(data), string(got[:len(data)]))
	for _, b := range got[len(data):] {
		require.Zero(m.t, b, "behind the message")
	}
}

func (m *model) truncated(v *modelRecv, size int) {
	m.want.Truncated++
	require.Equal(m.t, 1, v.ends)
	require.ErrorIs(m.t, v.err, bmi.ErrTruncated)
	require.Equal(m.t, size, v.size)
}

func (m *model) failed(p *modelPeer, v *modelRecv, err error) {
	require.Equal(m.t, 1, v.ends)
	require.ErrorIs(m.t, v.err, err)
	if v.msg != nil {
		v.msg.recv = nil
	}
	p.recvs = slices.DeleteFunc(p.recvs, func(w *modelRecv) bool { return w == v })
}

// receive takes the oldest receive for a message from the model.
func (p *modelPeer) receive(tag int) *modelRecv {
	i := slices.IndexFunc(p.recvs, func(v *modelRecv) bool { return v.tag == tag && v.msg == nil })
	if i < 0 {
		return nil
	}
	v := p.recvs[i]
	p.recvs = slices.Delete(p.recvs, i, i+1)
	return v
}

func (p *modelPeer) keep(e *modelMessage) {
	p.early = append(p.early, e)
	p.want.EarlyReceived++
}

func (m *model) deliver(p *modelPeer, tag, size int) {
	data := m.message(size)
	taken := m.in.Deliver(&p.Peer, uint32(tag), data)
	v := p.receive(tag)
	require.Equal(m.t, v != nil, taken)
	switch {
	case v == nil:
		p.keep(&modelMessage{tag: tag, data: data, whole: true, buffered: true})
	case size > v.op.Size:
		m.truncated(v, size)
	default:
		m.completed(p, v, data)
	}
}

func (m *model) begin(p *modelPeer, tag, size int) {
	e := &modelMessage{tag: tag, data: m.message(size)}
	e.msg = m.in.Begin(&p.Peer, uint32(tag), size, e)
	require.Equal(m.t, size, e.msg.Size())
	p.open = append(p.open, e)
	switch v := p.receive(tag); {
	case v == nil:
		p.keep(e)
	case size > v.op.Size:
		m.truncated(v, size)
	default:
		e.recv, v.msg = v, e
		p.recvs = append(p.recvs, v)
	}
}

// goOn brings more bytes of a message that is arriving, and ends it if they are the last.
func (m *model) goOn(p *modelPeer) {
	if len(p.open) == 0 {
		return
	}
	i := m.rng.IntN(len(p.open))
	e := p.open[i]
	early := slices.Contains(p.early, e)
	require.Equal(m.t, early && !e.buffered, e.msg.Waits())
	require.Equal(m.t, early && e.buffered, e.msg.Buffered())
	if e.msg.Waits() {
		if m.rng.IntN(2) == 0 {
			return
		}
		m.in.Buffer(e.msg)
		e.buffered = true
	}
	n := m.rng.IntN(len(e.data) - e.arrived + 1)
	next := e.data[e.arrived:][:n]
	if m.rng.IntN(2) == 0 {
		e.msg.Write(next)
	} else if vec, has := e.msg.Window(nil, n, 8); has > 0 {
		next = next[:has]
		rest := next
		for _, b := range vec {
			rest = rest[copy(b, rest):]
		}
		require.Empty(m.t, rest)
		e.msg.Placed(has)
	} else {
		require.True(m.t, n == 0 || e.recv == nil && !early, "only what goes nowhere has no window")
	}
	if e.arrived += len(next); e.arrived < len(e.data) {
		return
	}
	p.open = slices.Delete(p.open, i, i+1)
	m.in.End(e.msg)
	e.msg = nil
	if v := e.recv; v != nil {
		p.recvs = slices.DeleteFunc(p.recvs, func(w *modelRecv) bool { return w == v })
		m.completed(p, v, e.data)
	} else if early {
		e.whole = true
	}
}

func (m *model) announce(p *modelPeer, tag, size int) {
	op := m.in.Claim(&p.Peer, uint32(tag))
	v := p.receive(tag)
	if v != nil {
		require.Same(m.t, v.op, op)
		require.Zero(m.t, v.ends)
		return
	}
	require.Nil(m.t, op)
	e := &modelMessage{tag: tag, data: make([]byte, size), announced: true}
	e.msg = m.in.Announce(&p.Peer, uint32(tag), size, e, 10)
	p.keep(e)
}

func (m *model) cancel(p *modelPeer) {
	if len(p.recvs) == 0 {
		return
	}
	v := p.recvs[m.rng.IntN(len(p.recvs))]
	m.in.Cancel(&p.Peer, v.op, bmi.ErrCancelled)
	m.in.Cancel(&p.Peer, v.op, bmi.ErrCancelled) // it is not here any more
	m.want.Cancelled++
	m.failed(p, v, bmi.ErrCancelled)
}

func (m *model) withdraw(p *modelPeer) {
	i := slices.IndexFunc(p.early, func(e *modelMessage) bool { return e.announced })
	if i >= 0 {
		m.in.Withdraw(p.early[i].msg)
		p.early = slices.Delete(p.early, i, i+1)
	}
}

func (m *model) cut(p *modelPeer) {
	if len(p.open) == 0 {
		return
	}
	i := m.rng.IntN(len(p.open))
	e := p.open[i]
	p.open = slices.Delete(p.open, i, i+1)
	m.in.Cut(e.msg, errCut)
	p.early = slices.DeleteFunc(p.early, func(o *modelMessage) bool { return o == e })
	if v := e.recv; v != nil {
		m.failed(p, v, errCut)
	}
}

// lose makes the calls that a method makes when it loses a peer, in random order.
func (m *model) lose(p *modelPeer) {
	switch m.rng.IntN(3) {
	case 0:
		recvs := slices.Clone(p.recvs)
		m.in.Fail(&p.Peer, errFail)
		for _, v := range recvs {
			m.failed(p, v, errFail)
		}
	case 1:
		m.in.DropAnnounced(&p.Peer)
		p.early = slices.DeleteFunc(p.early, func(e *modelMessage) bool { return e.announced })
	case 2:
		m.in.DropEarly(&p.Peer)
		p.early = nil
	}
}

// compare compares what can be seen.
func (m *model) compare() {
	early, posted, bytes := 0, 0, 0
	for i := range m.peers {
		p := &m.peers[i]
		require.Equal(m.t, len(p.early), p.Early())
		require.Equal(m.t, len(p.recvs), p.Recvs())
		require.Equal(m.t, p.want, p.count)
		for _, v := range p.recvs {
			require.Zero(m.t, v.ends)
			if v.msg == nil {
				posted++
			}
		}
		early += len(p.early)
		bytes += p.EarlyBytes()
	}
	require.Equal(m.t, early, m.in.Early())
	require.Equal(m.t, posted, m.in.Recvs())
	require.Equal(m.t, bytes, m.in.EarlyBytes())
	require.Equal(m.t, m.want, m.errors)
}

// end removes everything, and checks that nothing is left.
func (m *model) end() {
	for i := range m.peers {
		p := &m.peers[i]
		for len(p.open) > 0 {
			m.cut(p)
		}
		m.in.DropEarly(&p.Peer)
		p.early = nil
		recvs := slices.Clone(p.recvs)
		m.in.Fail(&p.Peer, errFail)
		for _, v := range recvs {
			m.failed(p, v, errFail)
		}
	}
	m.compare()
	require.Zero(m.t, m.in.EarlyBytes())
}
