package simtest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// A storm is endpoints with random traffic between them, and its checks: every
// operation completes once; no message arrives twice, altered, out of order or at
// another endpoint; returned memory is not touched; early messages stay within
// their limits.
type storm struct {
	*testing.T
	w     *simWorld
	rng   *rand.Rand
	tcp   tcp.Options
	names []string
	nodes []*simNode // by name

	// quiet: nothing goes wrong, so everything must arrive.
	quiet bool
	// altered: the network changes bytes, so what arrives cannot be checked.
	altered bool
	sizes   []int
	// eager is how many of a hundred turns post a receive; 20 of a hundred send a
	// message.
	eager int

	messages map[uint64]*simMessage
	last     uint64                // id of the latest message
	missing  int                   // messages that have not arrived
	order    sim.InOrder[simOrder] // of unexpected messages
	met      map[simOrder][]simMet
	posts    uint64 // receives posted
	buffers  sim.Buffers
	held     []string // names in buffers, oldest first
	file     *os.File // see inFile
}

// A simNode is one life of an endpoint.
type simNode struct {
	s     *storm
	name  string
	ep    *bmi.Endpoint
	ctx   *bmi.Context
	ops   []*simOp
	peers []*simPeer
	dead  bool
}

// A simPeer is an address that an endpoint has.
type simPeer struct {
	addr bmi.Addr
	name string   // of the endpoint that has the address
	node *simNode // which life of that endpoint; nil if it was looked up
	gone bool     // it is no longer usable
	// Posted by the owner of the address, by tag: only these are balanced at
	// the end of a quiet run.
	sent, received [simTags]int
}

// simTags is the number of tags in use.
const simTags = 3

// A simMessage is a message that was sent.
type simMessage struct {
	id         uint64
	from       *simNode
	to         string
	tag        bmi.Tag
	size       int
	unexpected bool
	arrived    bool
}

// A simOp is an operation that was posted.
type simOp struct {
	n    *simNode
	id   bmi.OpID
	p    *simPeer
	tag  bmi.Tag
	recv bool
	post uint64 // of a receive: how many were posted before
	buf  []byte
	over bool
	err  error
}

// simOrder is the unit of ordering: messages of one tag from one peer, or all
// unexpected ones (tag 0).
type simOrder struct {
	n    *simNode
	from bmi.Addr
	tag  bmi.Tag
}

// simMet is a message and the receive that it matched. Receives and messages match
// in order, although completions may be seen in another order.
type simMet struct{ post, message uint64 }

func (s *storm) open(name string) *simNode {
	s.Helper()
	cfg := bmi.Config{
		Listen: []string{s.w.address(name)}, Manual: true,
		Limits: bmi.Limits{UnexpectedMessages: 1 + s.rng.IntN(20), DrainTimeMax: time.Minute},
	}
	ep, err := s.w.open(context.Background(), cfg, s.tcp)
	require.NoError(s, err)
	ctx, err := ep.OpenContext()
	require.NoError(s, err)
	s.Cleanup(func() { _ = ep.Close() })
	n := &simNode{s: s, name: name, ep: ep, ctx: ctx}
	for _, other := range s.names {
		if other != name {
			n.lookup(other)
		}
	}
	return n
}

// lookup makes an address of the other endpoint.
func (n *simNode) lookup(name string) {
	n.s.Helper()
	addr, err := n.ep.Lookup(n.s.w.address(name))
	require.NoError(n.s, err)
	n.peers = append(n.peers, &simPeer{addr: addr, name: name})
}

func (n *simNode) peer(addr bmi.Addr) *simPeer {
	i := slices.IndexFunc(n.peers, func(p *simPeer) bool { return p.addr == addr })
	if i < 0 {
		return nil
	}
	return n.peers[i]
}

// pick draws one of the addresses, and forgets those that are of no use.
func (n *simNode) pick() *simPeer {
	n.peers = slices.DeleteFunc(n.peers, func(p *simPeer) bool { return p.gone })
	return n.peers[n.s.rng.IntN(len(n.peers))]
}

// simByte is the byte at an offset of a message.
func simByte(id uint64, at int) byte {
	if at < 8 {
		return byte(id >> (8 * at))
	}
	return byte((id + uint64(at)*0x9e3779b97f4a7c15) >> 40)
}

// cut makes a list of a buffer, most of the time of one piece.
func (s *storm) cut(b []byte) (list [][]byte) {
	for s.rng.IntN(3) == 0 && len(list) < 10 {
		k := s.rng.IntN(len(b) + 1)
		list, b = append(list, b[:k]), b[k:]
	}
	return append(list, b)
}

// send posts a message.
func (n *simNode) send(p *simPeer, unexpected bool) *simOp {
	s := n.s
	s.last++
	m := &simMessage{
		id: s.last, from: n, to: p.name, tag: bmi.Tag(s.rng.IntN(simTags)),
		size: s.sizes[s.rng.IntN(len(s.sizes))], unexpected: unexpected,
	}
	if unexpected {
		m.size = min(m.size, 16384)
	}
	buf := make([]byte, m.size)
	for i := range buf {
		buf[i] = simByte(m.id, i)
	}
	s.messages[m.id] = m
	s.missing++
	o := &simOp{n: n, p: p, tag: m.tag, buf: buf}
	post := n.ctx.PostSendList
	if unexpected {
		post = func(to bmi.Addr, tag bmi.Tag, bufs [][]byte, user any) (bmi.Posted, error) {
			return n.ctx.PostSendUnexpectedList(to, 0, tag, bufs, user)
		}
	} else {
		p.sent[m.tag]++
	}
	if !unexpected && s.rng.IntN(3) == 0 {
		posted, err := n.ctx.PostSendFile(p.addr, m.tag, s.inFile(buf), o)
		o.posted(posted, err)
		return o
	}
	posted, err := post(p.addr, m.tag, s.cut(buf), o)
	o.posted(posted, err)
	return o
}

// inFile appends bytes to the storm's file.
func (s *storm) inFile(buf []byte) bmi.FileRange {
	if s.file == nil {
		file, err := os.Create(filepath.Join(s.TempDir(), "file"))
		require.NoError(s, err)
		s.Cleanup(func() { _ = file.Close() })
		s.file = file
	}
	at, err := s.file.Seek(0, io.SeekEnd)
	require.NoError(s, err)
	_, err = s.file.Write(buf)
	require.NoError(s, err)
	return bmi.FileRange{File: s.file, Off: at, Len: len(buf)}
}

// recv posts a receive.
func (n *simNode) recv(p *simPeer, tag bmi.Tag) {
	s := n.s
	room := slices.Max(s.sizes)
	if !s.quiet && s.rng.IntN(10) == 0 {
		room = s.rng.IntN(room)
	}
	s.posts++
	o := &simOp{n: n, p: p, tag: tag, recv: true, post: s.posts, buf: make([]byte, room)}
	p.received[tag]++
	posted, err := n.ctx.PostRecvList(p.addr, tag, s.cut(o.buf), o)
	o.posted(posted, err)
}

func (o *simOp) posted(p bmi.Posted, err error) {
	o.id = p.Op
	switch {
	case err != nil:
		require.False(o.n.s, o.n.s.quiet, "a post failed though nothing did: %v", err)
		o.p.gone = o.p.node != nil || errors.Is(err, bmi.ErrDropped)
		o.over = true
	case p.Done:
		o.complete(p.Size, nil)
	default:
		o.n.ops = append(o.n.ops, o)
	}
}

// complete checks the end of an operation.
func (o *simOp) complete(size int, err error) {
	s := o.n.s
	require.False(s, o.over, "%v completed twice", o)
	o.over, o.err = true, err
	switch {
	case err != nil:
		require.False(s, s.quiet && !errors.Is(err, bmi.ErrCancelled), "%v failed though nothing did: %v", o, err)
		if o.p.node != nil && !errors.Is(err, bmi.ErrCancelled) && !errors.Is(err, bmi.ErrTruncated) {
			o.p.gone = true
		}
	case o.recv:
		require.LessOrEqual(s, size, len(o.buf))
		s.arrived(o.n, o.p, o.tag, o, o.buf[:size])
	default:
		require.Equal(s, len(o.buf), size)
	}
	if o.recv {
		s.hold(o)
	}
}

func (o *simOp) String() string {
	what := "send to"
	if o.recv {
		what = "receive from"
	}
	return fmt.Sprintf("%s: %s %s (%v), tag %d, %d bytes", o.n.name, what, o.p.name, o.p.addr, o.tag, len(o.buf))
}

// hold detects later writes to the buffer of a receive.
func (s *storm) hold(o *simOp) {
	const most = 50
	name := fmt.Sprintf("%v (%p)", o, o)
	s.buffers.Hold(name, o.buf)
	s.held = append(s.held, name)
	if len(s.held) > most {
		require.NoError(s, s.buffers.Release(s.held[0]))
		s.held = s.held[1:]
	}
}

// arrived checks a message, and the receive that it matched; nil for an unexpected
// one.
func (s *storm) arrived(n *simNode, p *simPeer, tag bmi.Tag, recv *simOp, data []byte) {
	if s.altered {
		return
	}
	require.GreaterOrEqual(s, len(data), 8, "a message that nobody sent")
	m := s.messages[binary.LittleEndian.Uint64(data)]
	require.NotNil(s, m, "a message that nobody sent")
	require.Equal(s, [3]any{n.name, tag, recv == nil}, [3]any{m.to, m.tag, m.unexpected}, "message %d", m.id)
	require.Equal(s, p.name, m.from.name, "message %d", m.id)
	require.True(s, p.node == nil || p.node == m.from, "message %d of an earlier life", m.id)
	require.False(s, m.arrived, "message %d arrived twice", m.id)
	require.Len(s, data, m.size, "message %d", m.id)
	for i, b := range data {
		if b != simByte(m.id, i) {
			require.Failf(s, "altered", "byte %d of message %d of %d bytes", i, m.id, m.size)
		}
	}
	if recv == nil {
		require.NoError(s, s.order.Delivered(simOrder{n: n, from: p.addr}, m.id))
	} else {
		s.inOrder(simOrder{n, p.addr, tag}, simMet{recv.post, m.id})
	}
	m.arrived = true
	s.missing--
}

// inOrder checks that an earlier receive met an earlier message.
func (s *storm) inOrder(o simOrder, now simMet) {
	for _, then := range s.met[o] {
		require.Equal(s, then.post < now.post, then.message < now.message,
			"receive %d met message %d, receive %d message %d", then.post, then.message, now.post, now.message)
	}
	s.met[o] = append(s.met[o], now)
}

// poll lets a node make progress, and takes what completed.
func (n *simNode) poll() {
	var out [8]bmi.Completion
	k, err := n.ctx.TestContext(out[:], 0)
	if err != nil {
		require.NoError(n.s, err)
	}
	for _, c := range out[:k] {
		o := c.User.(*simOp)
		require.Same(n.s, n, o.n)
		require.Equal(n.s, o.id, c.Op)
		o.complete(c.Size, c.Err)
	}
	if k > 0 {
		n.ops = slices.DeleteFunc(n.ops, func(o *simOp) bool { return o.over })
	}
}

// take takes unexpected messages. The first one of an unknown peer tells which
// endpoint it is.
func (n *simNode) take() {
	var out [3]bmi.Unexpected
	k, err := n.ep.TestUnexpected(out[:], 0)
	if err != nil {
		require.NoError(n.s, err)
	}
	for i := range out[:k] {
		u := &out[i]
		p := n.peer(u.From)
		if p == nil {
			p = n.stranger(u)
		}
		if p != nil {
			n.s.arrived(n, p, u.Tag, nil, u.Data)
		}
		u.Release()
	}
}

func (n *simNode) stranger(u *bmi.Unexpected) *simPeer {
	if n.s.altered {
		p := &simPeer{addr: u.From, name: n.s.names[0], node: n}
		n.peers = append(n.peers, p)
		return p
	}
	require.GreaterOrEqual(n.s, len(u.Data), 8, "a message that nobody sent")
	m := n.s.messages[binary.LittleEndian.Uint64(u.Data)]
	require.NotNil(n.s, m, "a message that nobody sent")
	p := &simPeer{addr: u.From, name: m.from.name, node: m.from}
	n.peers = append(n.peers, p)
	return p
}

// bounds checks that a node keeps no more early messages than allowed.
func (n *simNode) bounds() {
	st := n.ep.Stats().Methods[0]
	if most := n.s.tcp.EarlyBytes; most > 0 {
		require.LessOrEqual(n.s, st.EarlyMessages, most/simSizeMin+st.Connected+1,
			"%s keeps too many messages: %+v", n.name, st)
	}
	if most := n.s.tcp.EarlyBytesPerPeer; most > 0 && n.s.quiet { // else some are of peers that ended
		require.LessOrEqual(n.s, st.EarlyMessages, (most/simSizeMin+1)*st.Connected,
			"%s keeps too many messages of a peer: %+v", n.name, st)
	}
	require.LessOrEqual(n.s, n.ep.Stats().Endpoint.QueuedUnexpected, 20)
}

// simSizeMin is the size of the smallest message. Every one that is kept costs at
// least as much.
const simSizeMin = 64
