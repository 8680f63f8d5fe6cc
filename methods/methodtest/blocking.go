package methodtest

import (
	"context"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// The blocking calls, with a context.Context.
var blockingTests = Tests{
	{"BlockingSendRecv", false, testBlockingSendRecv},
	{"BlockingTruncated", false, testBlockingTruncated},
	{"BlockingCall", false, testBlockingCall},
	{"BlockingCancel", false, testBlockingCancel},
	{"BlockingUnreachable", false, testBlockingUnreachable},
}

// blocking begins a test of blocking calls.
func blocking(t T, s *Subject) (w *world, a, b *node) {
	t.Helper()
	w, a, b = pair(t, s)
	w.threaded()
	w.meet(a, b)
	return w, a, b
}

// A caller makes blocking calls. A call that does not return within the test's
// time-out fails the test.
type caller struct {
	w *world
	t T
	n *node
	// limit is when the context of the calls ends; 0: not during the test.
	limit time.Duration
}

func (c caller) call(what string, f func(ctx context.Context) error) error {
	c.t.Helper()
	return c.w.within(c.t, what+" at "+c.n.name, func(ctx context.Context) error {
		if c.limit > 0 {
			short, cancel := context.WithTimeout(ctx, c.limit)
			defer cancel()
			ctx = short
		}
		return f(ctx)
	})
}

func (c caller) send(to *node, tag bmi.Tag, mem *memory) error {
	c.t.Helper()
	return c.call("Send", func(ctx context.Context) error {
		return c.n.ctx.Send(ctx, c.n.addr(to), tag, mem.pieces[0])
	})
}

func (c caller) sendUnexpected(to *node, tag bmi.Tag, mem *memory) error {
	c.t.Helper()
	return c.call("SendUnexpected", func(ctx context.Context) error {
		return c.n.ctx.SendUnexpected(ctx, c.n.addr(to), 0, tag, mem.pieces[0])
	})
}

func (c caller) recv(from *node, tag bmi.Tag, mem *memory) (n int, err error) {
	c.t.Helper()
	err = c.call("Recv", func(ctx context.Context) (err error) {
		n, err = c.n.ctx.Recv(ctx, c.n.addr(from), tag, mem.pieces[0])
		return err
	})
	return n, err
}

func (c caller) ask(to *node, tag bmi.Tag, request, reply *memory) (n int, err error) {
	c.t.Helper()
	err = c.call("Call", func(ctx context.Context) (err error) {
		n, err = c.n.ctx.Call(ctx, c.n.addr(to), 0, tag, request.pieces[0], reply.pieces[0])
		return err
	})
	return n, err
}

func testBlockingSendRecv(t T, s *Subject) {
	w, a, b := blocking(t, s)
	sizes := a.sizesOfEachProtocol()
	w.parallel(2, func(t T, i int) {
		for round := range 5 * len(sizes) {
			m := message{id: uint64(round), size: sizes[round%len(sizes)]}
			mem := newMemory(m.size)
			if i == 0 {
				mem.write(m)
				require.NoError(t, caller{w: w, t: t, n: a}.send(b, 1, mem))
				mem.poison()
				continue
			}
			n, err := caller{w: w, t: t, n: b}.recv(a, 1, mem)
			require.NoError(t, err)
			require.Equal(t, m.size, n)
			require.Equal(t, -1, m.wrongAt(mem.pieces))
			require.Empty(t, mem.touched())
		}
	})
	m := w.message(10)
	mem := newMemory(10)
	mem.write(m)
	require.NoError(t, caller{w: w, t: t, n: a}.sendUnexpected(b, 5, mem))
	mem.poison()
	u := b.take(1)
	w.requireUnexpected(u[0], 0, 5, m)
	u[0].Release()
}

func testBlockingTruncated(t T, s *Subject) {
	w, a, b := blocking(t, s)
	for _, size := range a.sizesOfEachProtocol()[1:] {
		send := a.send(b, 1, w.message(size))
		mem := newMemory(size - 1)
		n, err := caller{w: w, t: t, n: b}.recv(a, 1, mem)
		require.ErrorIs(t, err, bmi.ErrTruncated)
		require.Equal(t, size, n, "the length of the message")
		require.Empty(t, mem.touched())
		w.done(send)
	}
}

func testBlockingCall(t T, s *Subject) {
	w, a, b := blocking(t, s)
	srv := b.serve(0)
	most := min(2000, a.info().MaxUnexpectedSize)
	const callers, rounds = 4, 50
	w.parallel(callers, func(t T, i int) {
		for round := range rounds {
			m := message{id: uint64(i*rounds + round), size: round * 37 % (most + 1)}
			request, reply := newMemory(m.size), newMemory(most)
			request.write(m)
			n, err := caller{w: w, t: t, n: a}.ask(b, bmi.Tag(i), request, reply)
			require.NoError(t, err)
			require.Equal(t, m.size, n)
			require.Equal(t, -1, m.wrongAt(reply.pieces))
		}
	})
	srv.finish()

	// This request gets no answer.
	b.handle(0, func(bmi.Message) {})
	_, err := caller{w: w, t: t, n: a, limit: slice}.ask(b, 99, newMemory(8), newMemory(8))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func testBlockingCancel(t T, s *Subject) {
	w, a, b := blocking(t, s)
	w.exchange(a, b, 1, w.message(10))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := b.ctx.Recv(ended, b.addr(a), 1, make([]byte, 10))
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, a.ctx.Send(ended, a.addr(b), 1, make([]byte, 10)), context.Canceled)
	assert.ErrorIs(t, a.ctx.SendUnexpected(ended, a.addr(b), 0, 1, make([]byte, 10)), context.Canceled)

	// While it waits.
	mem := newMemory(100)
	_, err = caller{w: w, t: t, n: b, limit: slice}.recv(a, 1, mem)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	mem.poison()
	w.exchange(a, b, 1, w.message(100))
	require.Empty(t, mem.touched(), "a message went into the buffer of a receive that had been given up")

	if size := a.sizesOfEachProtocol()[5]; size > a.info().EagerSize {
		out := newMemory(size)
		if err := (caller{w: w, t: t, n: a, limit: slice}).send(b, 2, out); err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		out.poison()
		w.strand(a, b, 2, size)
	}
	w.recovered(a, b)
}

func testBlockingUnreachable(t T, s *Subject) {
	w, a, _ := blocking(t, s)
	nobody := w.nobody(a)
	c := caller{w: w, t: t, n: a}
	require.ErrorIs(t, c.send(nobody, 1, newMemory(10)), bmi.ErrUnreachable)
	require.ErrorIs(t, c.sendUnexpected(nobody, 1, newMemory(10)), bmi.ErrUnreachable)
	_, err := c.ask(nobody, 1, newMemory(10), newMemory(10))
	require.ErrorIs(t, err, bmi.ErrUnreachable)
}
