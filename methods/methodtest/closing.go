package methodtest

import (
	"context"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Close: sent messages still arrive if possible, every operation completes, the peers learn of it,
// and no resources are left.
var closeTests = Tests{
	{"CloseDrains", true, testCloseDrains},
	{"CloseCompletesEverything", true, testCloseCompletesEverything},
	{"CloseTellsPeers", true, testCloseTellsPeers},
	{"CloseTwice", true, testCloseTwice},
	{"CloseUnused", true, testCloseUnused},
	{"CloseWhileBusy", false, testCloseWhileBusy},
	{"CloseLeavesNothing", false, testCloseLeavesNothing},
}

// shortDrain is for endpoints that are closed with operations that cannot complete.
func shortDrain(cfg *bmi.Config) { cfg.Limits.DrainTimeMax = 100 * time.Millisecond }

// closeNode closes n and takes all its remaining completions.
func (w *world) closeNode(n *node) {
	w.Helper()
	n.abandon()
	if !w.closeBounded(n) {
		w.FailNow()
	}
	for _, l := range n.lanes {
		l.takeLeft()
	}
	for _, l := range n.lanes {
		for _, o := range l.ops {
			if o.pending {
				w.Errorf("%v did not complete, though its endpoint is closed", o)
			}
		}
	}
}

// takeLeft takes the completions of a closed endpoint, until it reports that there
// are no more.
func (l *lane) takeLeft() {
	l.t.Helper()
	if l.closed {
		return
	}
	for {
		n, err := l.ctx.TestContext(l.out[:], 0)
		if err != nil {
			require.ErrorIs(l.t, err, bmi.ErrClosed)
			l.closed = true
			return
		}
		require.Positive(l.t, n, "TestContext of a closed endpoint returns completions or ErrClosed")
		for _, c := range l.out[:n] {
			l.completed(c)
		}
	}
}

// testCloseDrains: a send that has completed, or that Close completes without an
// error, must arrive.
func testCloseDrains(t T, s *Subject) {
	w, a, b := pair(t, s)
	if s.Step != nil {
		t.Skipf("Close does not wait in simulated time, so there is no time to drain")
	}
	const count = 50
	var recvs, sends []*op
	var ms []message
	for i := range count {
		ms = append(ms, w.message(i*10))
		recvs = append(recvs, b.recv(a, 1, count*10))
	}
	w.exchange(a, b, 2, w.message(1)) // connected
	for _, m := range ms {
		sends = append(sends, a.send(b, 1, m))
	}
	w.closeNode(a)
	w.wait(recvs...)
	for i, send := range sends {
		if send.c.Err == nil {
			recvs[i].got(ms[i])
		}
	}
	require.NoError(t, sends[0].c.Err, "there was time for the first at least")
}

func testCloseCompletesEverything(t T, s *Subject) {
	w := newWorld(t, s)
	a, b := w.open("a", shortDrain), w.open("b")
	w.exchange(a, b, 1, w.message(10))
	var ops []*op
	for i, size := range a.sizesOfEachProtocol() {
		ops = append(ops, a.recv(b, bmi.Tag(10+i), size), a.send(b, bmi.Tag(20+i), w.message(size)))
	}
	if s.Step == nil { // with simulated time, a waiting connect has no time left
		ops = append(ops, a.send(w.nobody(a), 1, w.message(10)))
	}
	addr := a.addr(b)
	w.closeNode(a)
	for _, o := range ops {
		if o.recv {
			require.Error(t, o.c.Err, "%v got nothing", o)
		}
	}
	_, err := a.ctx.PostSend(addr, 1, make([]byte, 10), nil)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, err = a.ctx.PostRecv(addr, 1, make([]byte, 10), nil)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, err = a.ep.OpenContext()
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, err = a.ep.TestUnexpected(make([]bmi.Unexpected, 1), 0)
	assert.ErrorIs(t, err, bmi.ErrClosed)
}

func testCloseTellsPeers(t T, s *Subject) {
	w := newWorld(t, s)
	a, b := w.open("a", shortDrain), w.open("b")
	c := w.open("c")
	w.meet(a, b, c)
	w.exchange(a, b, 1, w.message(10))
	w.exchange(b, a, 1, w.message(10))
	w.exchange(c, b, 1, w.message(10))
	recvs := []*op{b.recv(a, 1, 10), b.recv(a, 2, 100_000)}
	send := b.send(a, 3, w.message(b.sizesOfEachProtocol()[5])) // a has no receive for it
	other := b.recv(c, 1, 10)
	b.heard(a)
	w.closeNode(a)
	w.failed(recvs)
	w.wait(send)
	require.True(t, other.pending, "a receive from another peer goes on waiting")
	m := w.message(10)
	w.done(c.send(b, 1, m))
	other.got(m)
}

func testCloseTwice(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.exchange(a, b, 1, w.message(10))
	w.closeNode(a)
	require.NoError(t, a.ep.Close())
	require.NoError(t, a.ep.Shutdown(context.Background()))
}

func testCloseUnused(t T, s *Subject) {
	w := newWorld(t, s)
	for range 5 {
		w.closeNode(w.open("a"))
		w.closeNode(w.connectOnly("b"))
	}
}

// testCloseWhileBusy closes an endpoint while goroutines on both sides post and
// test: everything must end, with any error.
func testCloseWhileBusy(t T, s *Subject) {
	w := newWorld(t, s)
	w.threaded()
	for range 3 {
		a, b := w.open("a", shortDrain), w.open("b")
		w.meet(a, b)
		warm := make(chan struct{}, 2)
		w.parallel(3, func(t T, i int) {
			if i == 2 {
				<-warm
				<-warm
				a.abandon()
				w.closeBounded(a)
				return
			}
			me, other := a, b
			if i == 1 {
				me, other = b, a
			}
			busyUntilError(t, w, me, other, warm)
		})
		w.closeNode(b)
	}
}

// busyUntilError exchanges messages with other until a call fails, as it will when
// one of them is closed.
func busyUntilError(t T, w *world, me, other *node, warm chan<- struct{}) {
	ctx, err := me.ep.OpenContext()
	require.NoError(t, err)
	to := me.addr(other)
	buf := [2][]byte{make([]byte, 3000), make([]byte, 3000)}
	ready := sync.OnceFunc(func() { warm <- struct{}{} })
	defer ready()
	for round := 0; ; round++ {
		if round == 5 {
			ready()
		}
		r, err := ctx.PostRecv(to, 1, buf[0], nil)
		if err != nil {
			return
		}
		s, err := ctx.PostSend(to, 1, buf[1], nil)
		if err != nil {
			return
		}
		for _, p := range []bmi.Posted{s, r} {
			if p.Done {
				continue
			}
			c, done, err := ctx.Test(p.Op, w.s.timeout())
			if err != nil || c.Err != nil {
				return
			}
			require.True(t, done, "an operation hangs although its endpoint, or its peer's, was closed")
		}
	}
}

// testCloseLeavesNothing: closing leaves no goroutines and no file descriptors.
func testCloseLeavesNothing(t T, s *Subject) {
	w := newWorld(t, s)
	round := func() {
		a, b := w.open("a"), w.open("b")
		w.exchange(a, b, 1, w.message(100))
		w.closeNode(a)
		w.closeNode(b)
	}
	for range 3 {
		round()
	}
	// Other tests may run at the same time, so only growth in every round counts.
	const rounds = 40
	goroutines, files := runtime.NumGoroutine(), openFiles()
	for range rounds {
		round()
	}
	deadline := time.Now().Add(w.prompt())
	for runtime.NumGoroutine() >= goroutines+rounds && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	assert.Less(t, runtime.NumGoroutine(), goroutines+rounds, "goroutines stay behind")
	assert.Less(t, openFiles(), files+rounds, "open files stay behind")
}

// openFiles counts the descriptors of this process; 0 where that is not known.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
