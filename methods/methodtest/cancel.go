package methodtest

import (
	"slices"

	"math/rand/v2"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Cancel, in every state of an operation. The operation still completes, once and soon. From then
// on its buffer belongs to the caller, and the peer cannot change it. If it was partly transmitted
// the connection may end; the next post makes another.
var cancelTests = Tests{
	{"CancelUnmatchedReceive", true, testCancelUnmatchedReceive},
	{"CancelOneOfMany", true, testCancelOneOfMany},
	{"CancelManyReceives", true, testCancelManyReceives},
	{"CancelCompleted", true, testCancelCompleted},
	{"CancelTwice", true, testCancelTwice},
	{"CancelBeforeConnected", true, testCancelBeforeConnected},
	{"CancelUnmatchedSend", true, testCancelUnmatchedSend},
	{"CancelDuringTransfer", false, testCancelDuringTransfer},
	{"CancelHeldUnexpected", false, testCancelHeldUnexpected},
	{"CancelSparesOthers", false, testCancelSparesOthers},
}

// cancelled requires that a cancelled operation ended in an allowed way: with
// ErrCancelled, with its own result, or with the error of the connection that the
// cancel ended.
func (w *world) cancelled(ops ...*op) {
	w.Helper()
	w.wait(ops...)
	for _, o := range ops {
		if o.c.Err != nil {
			require.True(w, isOneOf(o.c.Err, []error{bmi.ErrCancelled, bmi.ErrPeerFailed}),
				"%v ended with error %v", o, o.c.Err)
		}
	}
}

func testCancelUnmatchedReceive(t T, s *Subject) {
	w, a, b := pair(t, s)
	for range 2 { // before the two are connected, and afterwards
		r := b.recv(a, 1, 100)
		b.cancel(r)
		w.failed([]*op{r}, bmi.ErrCancelled)
		// Its message goes to the next one, not into the cancelled buffer.
		w.exchange(a, b, 1, w.message(100))
	}
}

func testCancelOneOfMany(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.exchange(a, b, 1, w.message(10))
	var recvs []*op
	for range 5 {
		recvs = append(recvs, b.recv(a, 1, 100))
	}
	for _, i := range []int{2, 0, 4} {
		b.cancel(recvs[i])
		w.failed(recvs[i:i+1], bmi.ErrCancelled)
	}
	// The others keep their order.
	for _, i := range []int{1, 3} {
		m := w.message(50 + i)
		w.done(a.send(b, 1, m))
		recvs[i].got(m)
	}
}

func testCancelManyReceives(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.exchange(a, b, 1, w.message(10))
	const count = 300
	var recvs []*op
	for i := range count {
		recvs = append(recvs, b.recv(a, bmi.Tag(i%10), 100))
	}
	order := rand.New(rand.NewPCG(3, 3)).Perm(count)
	for _, i := range order {
		b.cancel(recvs[i])
	}
	w.failed(recvs, bmi.ErrCancelled)
	for tag := range bmi.Tag(10) {
		w.exchange(a, b, tag, w.message(100))
	}
}

func testCancelCompleted(t T, s *Subject) {
	w, a, b := pair(t, s)
	m := w.message(100)
	r := b.recv(a, 1, 100)
	w.done(a.send(b, 1, m))
	// A later message has arrived, so r is complete, but no Test call has returned it.
	follow := b.recv(a, 2, 1)
	w.done(a.send(b, 2, w.message(1)))
	b.completed(b.testOne(follow))
	b.cancel(r)
	r.got(m)
	require.ErrorIs(t, b.ctx.Cancel(r.id), bmi.ErrUnknownOp, "it was taken")
	require.ErrorIs(t, b.ctx.Cancel(0), bmi.ErrUnknownOp, "the id of what was done at once")
}

func testCancelTwice(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.exchange(a, b, 1, w.message(10))
	r := b.recv(a, 1, 100)
	b.cancel(r)
	b.cancel(r) // still pending until a Test call returns it
	w.failed([]*op{r}, bmi.ErrCancelled)
	assert.ErrorIs(t, b.ctx.Cancel(r.id), bmi.ErrUnknownOp)
	w.exchange(a, b, 1, w.message(100))
}

func testCancelBeforeConnected(t T, s *Subject) {
	w := newWorld(t, s)
	a := w.open("a")
	for _, size := range a.sizesOfEachProtocol() {
		// There is no endpoint, so the sends wait for a connection.
		absent := w.nobody(a)
		addr := a.addr(absent)
		ops := []*op{
			a.send(absent, 1, w.message(size)),
			a.sendUnexpectedTo(addr, 0, 1, w.message(min(size, a.info().MaxUnexpectedSize))),
			a.recv(absent, 1, size),
		}
		for _, o := range ops {
			require.False(t, o.recv && o.immediate, "%v is done, from nobody", o)
			if o.pending {
				a.cancel(o)
			}
		}
		w.failed(ops, bmi.ErrCancelled, bmi.ErrUnreachable)

		b := w.openAs(absent.name, w.config(absent.name))
		a.learn(b, addr)
		if s.OneWay {
			a.introduce(b, addr)
		}
		w.recovered(a, b)
	}
}

func testCancelUnmatchedSend(t T, s *Subject) {
	w, a, b := pair(t, s)
	size := a.sizesOfEachProtocol()[5]
	for range 3 {
		w.recovered(a, b)
		m := w.message(size)
		send := a.send(b, 1, m)
		if !s.HeadOfLine {
			w.arrived(a, b) // the peer has received it
		}
		if send.pending {
			a.cancel(send)
		}
		w.cancelled(send)
		// Whether or not the message is still there, it must be whole or gone.
		r := b.recv(a, 1, size)
		if send.c.Err != nil {
			w.settle(r)
		}
		if w.wait(r); r.c.Err == nil {
			r.got(m)
		}
	}
	w.recovered(a, b)
}

// settle gives an operation whose counterpart was cancelled some time to end by
// itself, and then cancels it.
func (w *world) settle(o *op) {
	w.Helper()
	const looks, pause = 25, 2 * time.Millisecond
	for range looks {
		if !o.pending {
			return
		}
		o.l.collect(min(pause, o.l.patience()))
		w.step()
	}
	if o.pending {
		o.l.cancel(o)
	}
}

// testCancelDuringTransfer cancels either side, or both, of a transfer at a
// moment that varies from round to round.
func testCancelDuringTransfer(t T, s *Subject) {
	w, a, b := pair(t, s)
	size := a.largeSizes(1<<20, 4<<20, 16<<20)
	for round := range 18 {
		m := w.message(size[round%len(size)])
		r, send := b.recv(a, 1, m.size), a.send(b, 1, m)
		for range round / 3 % 3 {
			a.collect(0)
			b.collect(0)
			w.step()
		}
		if round%3 != 0 && send.pending {
			a.cancel(send)
		}
		if round%3 != 1 && r.pending {
			b.cancel(r)
		}
		// The other side notices: its operation need not be cancelled.
		if round%3 != 1 {
			w.cancelled(r)
			w.settle(send)
		} else {
			w.cancelled(send)
			w.settle(r)
		}
		w.cancelled(send, r)
		if r.c.Err == nil {
			r.got(m)
		} else {
			w.strand(a, b, 1, m.size)
		}
		w.recovered(a, b)
	}
}

func testCancelHeldUnexpected(t T, s *Subject) {
	w := newWorld(t, s)
	to := w.slowTaker(4, 0)
	a := w.open("a")
	f := a.flood(to, 0, 500, 100)
	for _, o := range f.sends {
		if o.pending {
			a.cancel(o)
		}
	}
	w.cancelled(f.sends...)
	// Messages that were not cancelled arrive whole and in order, unless the
	// cancel ended the connection.
	w.untaken = true
	next := 0
	var out [1]bmi.Unexpected
	to.untilDone("the rest of a flood", func() bool {
		n, err := to.ep.TestUnexpected(out[:], to.patience())
		require.NoError(t, err)
		if n == 1 {
			u := out[0]
			require.GreaterOrEqual(t, int(u.Tag), next, "order")
			require.Less(t, int(u.Tag), len(f.ms))
			w.requireUnexpected(u, 0, u.Tag, f.ms[u.Tag])
			next = int(u.Tag) + 1
			u.Release()
		}
		return n == 0
	})
	w.recovered(a, to)
}

// testCancelSparesOthers: a cancel may affect only its own peer.
func testCancelSparesOthers(t T, s *Subject) {
	w := newWorld(t, s)
	a, b, c := w.open("a", shortDrain), w.open("b"), w.open("c") // a may have sent messages that are never taken
	w.meet(a, b, c)
	w.exchange(c, b, 1, w.message(10))
	size := a.sizesOfEachProtocol()[5]
	waiting := b.recv(c, 7, size)
	m := w.message(slices.Max(w.early(a.sizesOfEachProtocol())))
	early := c.send(b, 8, m)

	send := a.send(b, 1, w.message(size))
	if send.pending {
		a.cancel(send)
	}
	w.cancelled(send)
	require.True(t, waiting.pending, "a receive from another peer goes on waiting")
	n := w.message(size)
	w.done(c.send(b, 7, n))
	waiting.got(n)
	r := b.recv(c, 8, m.size)
	w.done(early)
	r.got(m)
	w.recovered(c, b)
}
