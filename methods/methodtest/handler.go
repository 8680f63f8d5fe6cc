package methodtest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Handlers take the unexpected messages of a class while progress is made. They
// may post and cancel, and do not affect other classes.
var handlerTests = Tests{
	{"Handler", true, testHandler},
	{"HandlerAnswers", true, testHandlerAnswers},
	{"HandlerAndQueue", false, testHandlerAndQueue},
	{"HandlerPostsReceive", true, testHandlerPostsReceive},
	{"HandlerPassesFlood", false, testHandlerPassesFlood},
	{"HandlerRemoved", true, testHandlerRemoved},
	{"HandlerTakesQueued", true, testHandlerTakesQueued},
	{"HandlerCancels", false, testHandlerCancels},
}

// A record keeps what a handler saw.
type record struct {
	mu   sync.Mutex
	seen []bmi.Message // Data is a copy
}

func (r *record) handle(m bmi.Message) {
	m.Data = bytes.Clone(m.Data)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, m)
}

func (r *record) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen)
}

func (n *node) handle(class bmi.Class, fn func(bmi.Message)) {
	n.w.Helper()
	require.NoError(n.w, n.ep.Handle(class, fn))
}

func testHandler(t T, s *Subject) {
	w, a, b := pair(t, s)
	var r record
	a.addr(b) // with OneWay, the introduction must not go to the handler
	b.handle(0, r.handle)
	var ms []message
	for i, size := range []int{0, 1, 100, a.info().MaxUnexpectedSize} {
		m := w.message(size)
		ms = append(ms, m)
		w.done(a.sendUnexpected(b, 0, bmi.Tag(i), m))
	}
	b.until("the handler was called", func() bool { return r.count() >= len(ms) })
	require.Len(t, r.seen, len(ms))
	for i, got := range r.seen {
		requireAddr(t, b.addr(a), got.From, "the sender")
		w.requireUnexpected(bmi.Unexpected{From: got.From, Class: got.Class, Tag: got.Tag, Data: got.Data},
			0, bmi.Tag(i), ms[i])
	}
}

// A server is a handler that answers requests with an expected message of the
// same bytes. The request must still be unchanged after the post.
type server struct {
	n   *node
	ctx *bmi.Context

	mu      sync.Mutex
	pending int
	failed  error
}

func (n *node) serve(class bmi.Class) *server {
	n.w.Helper()
	ctx, err := n.ep.OpenContext()
	require.NoError(n.w, err)
	s := &server{n: n, ctx: ctx}
	n.handle(class, s.answer)
	return s
}

func (s *server) answer(m bmi.Message) {
	request := bytes.Clone(m.Data)
	p, err := s.ctx.PostSend(m.From, m.Tag, request, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !bytes.Equal(request, m.Data) && s.failed == nil {
		s.failed = errors.New("a message changed while its handler looked at it")
	}
	if err != nil && s.failed == nil {
		s.failed = fmt.Errorf("post from a handler: %w", err)
	}
	if err == nil && !p.Done {
		s.pending++
	}
}

// finish takes the completions of all answers.
func (s *server) finish() {
	t := s.n.w
	t.Helper()
	var out [16]bmi.Completion
	s.n.untilDone("the answers of a handler complete", func() bool {
		n, err := s.ctx.TestContext(out[:], 0)
		require.NoError(t, err)
		for _, c := range out[:n] {
			require.NoError(t, c.Err, "an answer")
			require.True(t, c.User == any(s), "the user value of an answer")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		require.NoError(t, s.failed)
		s.pending -= n
		return s.pending == 0
	})
}

func testHandlerAnswers(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.addr(b)
	srv := b.serve(0)
	const window, rounds = 8, 25
	size := min(1000, a.info().MaxUnexpectedSize)
	for range rounds {
		var recvs, asks []*op
		var ms []message
		for tag := range bmi.Tag(window) {
			m := w.message(size)
			ms = append(ms, m)
			recvs = append(recvs, a.recv(b, tag, size))
			asks = append(asks, a.sendUnexpected(b, 0, tag, m))
		}
		w.done(asks...)
		for i, r := range recvs {
			r.got(ms[i])
		}
	}
	srv.finish()
}

func testHandlerAndQueue(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.classes()
	a.addr(b)
	var r record
	b.handle(7, r.handle)
	const each = 20
	var ms []message
	for i := range each {
		w.done(a.sendUnexpected(b, 7, bmi.Tag(i), w.message(10)))
		ms = append(ms, w.message(20))
		w.done(a.sendUnexpected(b, 8, bmi.Tag(i), ms[i]))
	}
	for i, u := range b.take(each) {
		w.requireUnexpected(u, 8, bmi.Tag(i), ms[i])
		u.Release()
	}
	b.until("the handler was called", func() bool { return r.count() >= each })
	require.Equal(t, each, r.count())
	for i, m := range r.seen {
		require.Equal(t, bmi.Class(7), m.Class)
		require.Equal(t, bmi.Tag(i), m.Tag)
	}
}

// testHandlerPostsReceive is how services receive bulk data: the request
// announces it, and the handler posts the receive.
func testHandlerPostsReceive(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.addr(b)
	ctx, err := b.ep.OpenContext()
	require.NoError(t, err)
	size := a.sizesOfEachProtocol()[5]
	var mu sync.Mutex
	bufs := make(map[bmi.Tag]*memory)
	var posted []bmi.Posted
	var failed error
	b.handle(0, func(m bmi.Message) {
		mem := newMemory(size)
		p, err := ctx.PostRecv(m.From, m.Tag, mem.pieces[0], m.Tag)
		mu.Lock()
		defer mu.Unlock()
		bufs[m.Tag] = mem
		posted = append(posted, p)
		if err != nil {
			failed = err
		}
	})
	const count = 6
	var ops []*op
	var ms []message
	for tag := range bmi.Tag(count) {
		ms = append(ms, w.message(size))
		ops = append(ops, a.sendUnexpected(b, 0, tag, w.message(8)), a.send(b, tag, ms[tag]))
	}
	w.done(ops...)
	done := 0
	var out [count]bmi.Completion
	b.untilDone("the receives that a handler posted complete", func() bool {
		n, err := ctx.TestContext(out[:], b.patience())
		require.NoError(t, err)
		for _, c := range out[:n] {
			require.NoError(t, c.Err)
		}
		done += n
		mu.Lock()
		defer mu.Unlock()
		require.NoError(t, failed, "a post from a handler")
		immediate := 0
		for _, p := range posted {
			if p.Done {
				immediate++
			}
		}
		return done+immediate == count
	})
	for tag, mem := range bufs {
		require.Equal(t, -1, ms[tag].wrongAt(mem.pieces), "first wrong byte of %v", ms[tag])
		require.Empty(t, mem.touched())
	}
}

func testHandlerPassesFlood(t T, s *Subject) {
	w := newWorld(t, s)
	to := w.slowTaker(4, 0)
	to.classes()
	a, c := w.open("a"), w.open("c")
	w.meet(to, a, c)
	srv := to.serve(9)
	f := a.flood(to, 0, 200, 100)
	// The queue is full, but a handler does not need it.
	for tag := range bmi.Tag(20) {
		m := w.message(50)
		r := c.recv(to, tag, 50)
		w.done(c.sendUnexpected(to, 9, tag, m))
		r.got(m)
	}
	srv.finish()
	for i, u := range to.take(len(f.ms)) {
		w.requireUnexpected(u, 0, bmi.Tag(i), f.ms[i])
		u.Release()
	}
	w.done(f.sends...)
}

func testHandlerRemoved(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.addr(b)
	var r record
	b.handle(0, r.handle)
	w.done(a.sendUnexpected(b, 0, 1, w.message(5)))
	b.until("the handler was called", func() bool { return r.count() == 1 })
	b.handle(0, nil)
	m := w.message(6)
	w.done(a.sendUnexpected(b, 0, 2, m))
	u := b.take(1)
	w.requireUnexpected(u[0], 0, 2, m)
	u[0].Release()
	require.Equal(t, 1, r.count())
}

// testHandlerTakesQueued: a handler also gets earlier messages.
func testHandlerTakesQueued(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.addr(b)
	const each = 10
	for i := range each {
		w.done(a.sendUnexpected(b, 0, bmi.Tag(i), w.message(i)))
	}
	w.arrived(a, b)
	var r record
	b.handle(0, r.handle)
	for i := range each {
		w.done(a.sendUnexpected(b, 0, bmi.Tag(each+i), w.message(i)))
	}
	b.until("the handler was called", func() bool { return r.count() >= 2*each })
	require.Equal(t, 2*each, r.count())
	for i, m := range r.seen {
		require.Equal(t, bmi.Tag(i), m.Tag, "order")
	}
}

// testHandlerCancels: a handler may cancel operations of its endpoint.
func testHandlerCancels(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.addr(b)
	waiting := make([]*op, 10)
	for i := range waiting {
		waiting[i] = b.recv(a, bmi.Tag(100+i), 10)
	}
	failed := make(chan error, len(waiting))
	b.handle(0, func(m bmi.Message) { failed <- b.ctx.Cancel(waiting[m.Tag].id) })
	for i := range waiting {
		w.done(a.sendUnexpected(b, 0, bmi.Tag(i), w.message(0)))
	}
	w.failed(waiting, bmi.ErrCancelled)
	for range waiting {
		require.NoError(t, <-failed, "cancel from a handler")
	}
	w.exchange(a, b, 1, w.message(10))
}
