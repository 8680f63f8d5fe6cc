package inbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/buffers"
	"github.com/viaduct-hpc/viaduct/internal/inbox"
)

// handled is a class with a handler: there is always room for it.
const handled bmi.Class = 9

// endpoint is a Host with room for some unexpected messages.
type endpoint struct {
	t       *testing.T
	in      *inbox.Inbox
	buffers buffers.Pool
	a, b    inbox.Peer
	count   bmi.Traffic
	room    int
	got     []string // the first letter names the peer
	handler func(data string)
	resumed []*inbox.Peer
}

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{t: t}
	e.in = inbox.New(inbox.Options{Host: e, Buffers: &e.buffers, Errors: &bmi.ErrorCounts{}})
	e.a.Init(1, bmi.NewHostAddr(peerName("a")), &e.count)
	e.b.Init(2, bmi.NewHostAddr(peerName("b")), &e.count)
	return e
}

func (e *endpoint) NewAddr(p bmi.Peer) bmi.Addr { return bmi.NewHostAddr(p) }
func (e *endpoint) Wake()                       {}

func (e *endpoint) ArrivedShared(from bmi.Addr, class bmi.Class, tag bmi.Tag, data []byte) bool {
	return e.Arrived(from, class, tag, data)
}

func (e *endpoint) Arrived(from bmi.Addr, class bmi.Class, tag bmi.Tag, data []byte) bool {
	if e.room == 0 && class != handled {
		return false
	}
	require.Contains(e.t, []bmi.Class{1, handled}, class)
	require.Equal(e.t, bmi.Tag(2), tag)
	e.room = max(e.room-1, 0)
	text := from.String() + string(data)
	e.got = append(e.got, text)
	if e.handler != nil {
		e.handler(text)
	}
	return true
}

func (e *endpoint) offer(p *inbox.Peer, text string) bool {
	return e.in.Offer(p, 1, 2, []byte(text))
}

func (e *endpoint) offerHeld(room int) bool {
	e.room = room
	return e.in.OfferHeld(func(p *inbox.Peer) { e.resumed = append(e.resumed, p) })
}

// TestHeldMessagesKeepTheirOrder: once a message of a peer is held, later ones of it are, too,
// even if there is room again.
func TestHeldMessagesKeepTheirOrder(t *testing.T) {
	e := newEndpoint(t)
	e.room = 1
	require.True(t, e.offer(&e.a, "1"))
	require.False(t, e.offer(&e.a, "2"))
	e.room = 1
	require.False(t, e.offer(&e.a, "3"))
	require.True(t, e.offer(&e.b, "1"), "another peer's goes past")
	require.False(t, e.in.OfferBuffer(&e.b, 1, 2, append(e.buffers.Take(1), '2')))
	require.True(t, e.a.Holds())
	require.True(t, e.in.Holds())

	require.False(t, e.offerHeld(0))
	require.Empty(t, e.resumed)
	require.True(t, e.offerHeld(1))
	require.Equal(t, []*inbox.Peer{&e.a}, e.resumed)
	require.True(t, e.offerHeld(2))
	require.Equal(t, []string{"a1", "b1", "a2", "a3", "b2"}, e.got)
	require.False(t, e.in.Holds())
	require.False(t, e.a.Holds())
	require.False(t, e.offerHeld(1))
	require.EqualValues(t, 5, e.count.UnexpectedReceived)
	require.EqualValues(t, 3, e.count.HeldUnexpected)
}

// TestAClassIsNotHeldUpByAnother: while the endpoint has no room for one class, messages of another
// that it takes do not wait behind it, whichever peer they are from. Those of one peer keep their
// order.
func TestAClassIsNotHeldUpByAnother(t *testing.T) {
	e := newEndpoint(t)
	require.False(t, e.offer(&e.a, "1"))
	e.in.Hold(&e.a, handled, 2, append(e.buffers.Take(1), '2'))
	e.in.Hold(&e.b, handled, 2, append(e.buffers.Take(1), '1'))
	require.False(t, e.offer(&e.b, "2"))
	require.True(t, e.offerHeld(0))
	require.Equal(t, []string{"b1"}, e.got)
	require.Equal(t, []*inbox.Peer{&e.b}, e.resumed)
	require.False(t, e.offerHeld(0))
	require.True(t, e.offerHeld(1))
	for e.offerHeld(1) {
	}
	require.Equal(t, []string{"b1", "a1", "a2", "b2"}, e.got, "a waited longer than b")
	require.False(t, e.in.Holds())
}

// TestAHandlerThatSendsToItself gets its message in a later round, and others get theirs first.
func TestAHandlerThatSendsToItself(t *testing.T) {
	e := newEndpoint(t)
	e.in.Hold(&e.a, 1, 2, append(e.buffers.Take(1), '.'))
	e.in.Hold(&e.b, 1, 2, append(e.buffers.Take(1), '.'))
	e.handler = func(text string) {
		if text == "a." {
			e.in.Hold(&e.a, 1, 2, append(e.buffers.Take(1), '.'))
		}
	}
	for round := range 3 {
		require.True(t, e.offerHeld(10), round)
	}
	require.Equal(t, []string{"a.", "b.", "a.", "a."}, e.got)
}

// TestAHandlerThatDrops: a handler may drop its own peer and others.
func TestAHandlerThatDrops(t *testing.T) {
	e := newEndpoint(t)
	for _, p := range []*inbox.Peer{&e.a, &e.a, &e.b} {
		require.False(t, e.offer(p, "."))
	}
	e.handler = func(string) {
		e.in.DropHeld(&e.a)
		e.in.DropHeld(&e.b)
	}
	require.True(t, e.offerHeld(10))
	require.Equal(t, []string{"a."}, e.got)
	require.False(t, e.in.Holds())

	e.handler, e.room = nil, 0
	require.False(t, e.offer(&e.a, "later"))
	require.True(t, e.in.Holds())
	require.True(t, e.offerHeld(1))
	require.Equal(t, []string{"a.", "alater"}, e.got)
}

// TestNothingIsAllocated: a small message allocates nothing, whether it or its receive comes first.
func TestNothingIsAllocated(t *testing.T) {
	e := newEndpoint(t)
	ended := 0
	op := bmi.NewHostOp(func(*bmi.Op, int, error) { ended++ })
	op.Kind, op.Bufs, op.Size = bmi.KindRecv, [][]byte{make([]byte, 8)}, 8
	body := []byte("12345678")
	var p inbox.Peer
	p.Init(3, bmi.NewHostAddr(peerName("p")), &e.count)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		e.in.Post(&p, op)
		e.in.Deliver(&p, 0, body)
		e.in.Deliver(&p, 0, body)
		e.in.Post(&p, op)
		msg := e.in.Begin(&p, 0, 8, nil)
		e.in.Buffer(msg)
		msg.Write(body)
		e.in.End(msg)
		e.in.Post(&p, op)
	}))
	require.Equal(t, 3*101, ended)
}
