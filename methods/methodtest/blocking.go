package methodtest

import (
	"context"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// The blocking calls, for those who want plain Go.
var blockingTests = Tests{
	{"BlockingSendRecv", false, testBlockingSendRecv},
	{"BlockingTruncated", false, testBlockingTruncated},
	{"BlockingCall", false, testBlockingCall},
	{"BlockingCancel", false, testBlockingCancel},
	{"BlockingUnreachable", false, testBlockingUnreachable},
}

// blocking begins a test of blocking calls.
func blocking(t T, s *Subject) (w *world, a, b *node, ctx context.Context) {
	t.Helper()
	w, a, b = pair(t, s)
	w.threaded()
	w.meet(a, b)
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout())
	t.Cleanup(cancel)
	return w, a, b, ctx
}

func testBlockingSendRecv(t T, s *Subject) {
	w, a, b, ctx := blocking(t, s)
	sizes := a.sizesOfEachProtocol()
	w.parallel(2, func(t T, i int) {
		for round := range 5 * len(sizes) {
			m := message{id: uint64(round), size: sizes[round%len(sizes)]}
			mem := newMemory(m.size)
			if i == 0 {
				mem.write(m)
				require.NoError(t, a.ctx.Send(ctx, a.addr(b), 1, mem.pieces[0]))
				mem.poison()
				continue
			}
			n, err := b.ctx.Recv(ctx, b.addr(a), 1, mem.pieces[0])
			require.NoError(t, err)
			require.Equal(t, m.size, n)
			require.Equal(t, -1, m.wrongAt(mem.pieces))
			require.Empty(t, mem.touched())
		}
	})
	m := w.message(10)
	mem := newMemory(10)
	mem.write(m)
	require.NoError(t, a.ctx.SendUnexpected(ctx, a.addr(b), 0, 5, mem.pieces[0]))
	mem.poison()
	u := b.take(1)
	w.requireUnexpected(u[0], 0, 5, m)
	u[0].Release()
}

func testBlockingTruncated(t T, s *Subject) {
	w, a, b, ctx := blocking(t, s)
	for _, size := range a.sizesOfEachProtocol()[1:] {
		send := a.send(b, 1, w.message(size))
		mem := newMemory(size - 1)
		n, err := b.ctx.Recv(ctx, b.addr(a), 1, mem.pieces[0])
		require.ErrorIs(t, err, bmi.ErrTruncated)
		require.Equal(t, size, n, "the length of the message")
		require.Empty(t, mem.touched())
		w.done(send)
	}
}

func testBlockingCall(t T, s *Subject) {
	w, a, b, ctx := blocking(t, s)
	srv := b.serve(0)
	most := min(2000, a.info().MaxUnexpectedSize)
	const callers, rounds = 4, 50
	w.parallel(callers, func(t T, i int) {
		for round := range rounds {
			m := message{id: uint64(i*rounds + round), size: round * 37 % (most + 1)}
			request, reply := newMemory(m.size), newMemory(most)
			request.write(m)
			n, err := a.ctx.Call(ctx, a.addr(b), 0, bmi.Tag(i), request.pieces[0], reply.pieces[0])
			require.NoError(t, err)
			require.Equal(t, m.size, n)
			require.Equal(t, -1, m.wrongAt(reply.pieces))
		}
	})
	srv.finish()

	// Nobody answers this one.
	b.handle(0, func(bmi.Message) {})
	short, cancel := context.WithTimeout(ctx, slice)
	defer cancel()
	_, err := a.ctx.Call(short, a.addr(b), 0, 99, make([]byte, 8), make([]byte, 8))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func testBlockingCancel(t T, s *Subject) {
	w, a, b, ctx := blocking(t, s)
	w.exchange(a, b, 1, w.message(10))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := b.ctx.Recv(ended, b.addr(a), 1, make([]byte, 10))
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, a.ctx.Send(ended, a.addr(b), 1, make([]byte, 10)), context.Canceled)
	assert.ErrorIs(t, a.ctx.SendUnexpected(ended, a.addr(b), 0, 1, make([]byte, 10)), context.Canceled)

	// While it waits.
	mem := newMemory(100)
	short, cancel := context.WithTimeout(ctx, slice)
	defer cancel()
	_, err = b.ctx.Recv(short, b.addr(a), 1, mem.pieces[0])
	require.ErrorIs(t, err, context.DeadlineExceeded)
	mem.poison()
	w.exchange(a, b, 1, w.message(100))
	require.Empty(t, mem.touched(), "a message went into the buffer of a receive that had been given up")

	if size := a.sizesOfEachProtocol()[5]; size > a.info().EagerSize {
		short, cancel := context.WithTimeout(ctx, slice)
		defer cancel()
		out := newMemory(size)
		if err := a.ctx.Send(short, a.addr(b), 2, out.pieces[0]); err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		out.poison()
	}
	w.recovered(a, b)
}

func testBlockingUnreachable(t T, s *Subject) {
	w, a, _, ctx := blocking(t, s)
	nobody := w.nobody(a)
	err := a.ctx.Send(ctx, a.addr(nobody), 1, make([]byte, 10))
	require.ErrorIs(t, err, bmi.ErrUnreachable)
	err = a.ctx.SendUnexpected(ctx, a.addr(nobody), 0, 1, make([]byte, 10))
	require.ErrorIs(t, err, bmi.ErrUnreachable)
	_, err = a.ctx.Call(ctx, a.addr(nobody), 0, 1, make([]byte, 10), make([]byte, 10))
	require.ErrorIs(t, err, bmi.ErrUnreachable)
}
