package methodtest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Unexpected messages: classes, and a receiver that is slower than the senders.
// The endpoint keeps a limited number and the rest waits at its sender. Nothing
// is lost, and no other peer is affected.
var unexpectedTests = Tests{
	{"UnexpectedClasses", false, testUnexpectedClasses},
	{"UnexpectedAnswer", true, testUnexpectedAnswer},
	{"UnexpectedFlood", true, testUnexpectedFlood},
	{"UnexpectedFloodBytes", true, testUnexpectedFloodBytes},
	{"UnexpectedFloodOfMany", false, testUnexpectedFloodOfMany},
}

// classes skips the test for methods without classes.
func (n *node) classes() {
	n.w.Helper()
	if !n.info().Classes {
		n.w.Skipf("the method's unexpected messages carry no class")
	}
}

func testUnexpectedClasses(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.classes()
	classes := []bmi.Class{0, 1, 7, 128, 255}
	const each = 5
	ms := make(map[bmi.Class][]message)
	for i := range each {
		for _, c := range classes {
			m := w.message(i)
			ms[c] = append(ms[c], m)
			w.done(a.sendUnexpected(b, c, bmi.Tag(i), m))
		}
	}
	// One class at a time, in another order than they came; one class has no
	// messages.
	for _, c := range []bmi.Class{255, 7} {
		for i, u := range b.takeClass(c, each) {
			w.requireUnexpected(u, c, bmi.Tag(i), ms[c][i])
			u.Release()
		}
	}
	var out [1]bmi.Unexpected
	n, err := b.ep.TestUnexpectedClass(99, out[:], 0)
	require.NoError(t, err)
	require.Zero(t, n, "nobody sent any of class 99")
	// The messages of the other classes come in the order in which they were sent.
	rest := []bmi.Class{0, 1, 128}
	for i, u := range b.take(each * len(rest)) {
		c := rest[i%len(rest)]
		w.requireUnexpected(u, c, bmi.Tag(i/len(rest)), ms[c][i/len(rest)])
		u.Release()
	}
}

// takeClass takes count unexpected messages of one class.
func (n *node) takeClass(class bmi.Class, count int) []bmi.Unexpected {
	n.t.Helper()
	out := make([]bmi.Unexpected, count)
	got := 0
	n.untilDone("unexpected messages of one class", func() bool {
		k, err := n.ep.TestUnexpectedClass(class, out[got:], n.patience())
		require.NoError(n.t, err)
		got += k
		return got == count
	})
	return out
}

func testUnexpectedAnswer(t T, s *Subject) {
	w := newWorld(t, s)
	server := w.open("server")
	for range 3 {
		client := w.connectOnly("client")
		addr, err := client.ep.Lookup(s.Address(server.name))
		require.NoError(t, err)
		client.learn(server, addr)
		for i, size := range client.sizesOfEachProtocol() {
			answer := w.message(size)
			r := client.recv(server, bmi.Tag(i), size)
			ask := client.sendUnexpected(server, 0, bmi.Tag(i), w.message(8))
			u := server.take(1)
			server.learn(client, u[0].From)
			u[0].Release()
			send := server.send(client, bmi.Tag(i), answer)
			w.done(ask, send)
			r.got(answer)
		}
	}
}

// A flood is a series of messages sent although the receiver takes none.
type flood struct {
	ms    []message
	sends []*op
}

// flood posts unexpected messages until there are count of them or the sender's
// own limit is reached.
func (n *node) flood(to *node, class bmi.Class, count, size int) *flood {
	n.t.Helper()
	f := &flood{}
	addr := n.addr(to)
	n.impatient = true
	defer func() { n.impatient = false }()
	for i := range count {
		m := n.w.message(size)
		o, err := n.trySendUnexpected(addr, class, bmi.Tag(i), m)
		if isAgain(err) {
			break
		}
		require.NoError(n.t, err)
		f.ms, f.sends = append(f.ms, m), append(f.sends, o)
	}
	return f
}

// slowTaker opens an endpoint that keeps few unexpected messages.
func (w *world) slowTaker(messages, bytes int) *node {
	w.Helper()
	return w.open("taker", func(cfg *bmi.Config) {
		cfg.Limits.UnexpectedMessages, cfg.Limits.UnexpectedBytes = messages, bytes
	})
}

func testUnexpectedFlood(t T, s *Subject) {
	w := newWorld(t, s)
	const keeps = 8
	to := w.slowTaker(keeps, 0)
	a, c := w.open("a"), w.open("c")
	w.meet(to, a, c)
	f := a.flood(to, 0, 500, 100)
	require.Greater(t, len(f.sends), keeps)
	// No other peer is affected.
	for _, size := range a.sizesOfEachProtocol() {
		w.exchange(c, to, 1, w.message(size))
		w.exchange(to, c, 1, w.message(size))
		require.LessOrEqual(t, to.ep.Stats().Endpoint.QueuedUnexpected, keeps, "more is kept than the limit allows")
	}
	for i := range f.ms {
		u := to.take(1)
		w.requireUnexpected(u[0], 0, bmi.Tag(i), f.ms[i])
		require.LessOrEqual(t, to.ep.Stats().Endpoint.QueuedUnexpected, keeps, "more is kept than the limit allows")
		u[0].Release()
	}
	w.done(f.sends...)
	w.exchange(a, to, 1, w.message(100))
}

func testUnexpectedFloodBytes(t T, s *Subject) {
	w := newWorld(t, s)
	size := min(4000, newWorldInfo(w).MaxUnexpectedSize)
	to := w.slowTaker(0, 4*size)
	a, c := w.open("a"), w.open("c")
	w.meet(to, a, c)
	f := a.flood(to, 0, 200, size)
	w.exchange(to, c, 1, w.message(10))
	for i := range f.ms {
		u := to.take(1)
		w.requireUnexpected(u[0], 0, bmi.Tag(i), f.ms[i])
		require.LessOrEqual(t, to.ep.Stats().Endpoint.QueuedUnexpectedBytes, 4*size, "more is kept than the limit allows")
		u[0].Release()
	}
	w.done(f.sends...)
}

// newWorldInfo is the method's Info before there is a test endpoint.
func newWorldInfo(w *world) bmi.Info {
	w.Helper()
	return w.open("info").info()
}

func testUnexpectedFloodOfMany(t T, s *Subject) {
	w := newWorld(t, s)
	to := w.slowTaker(4, 0)
	const senders = 4
	var from []*node
	for range senders {
		from = append(from, w.open("sender"))
	}
	w.meet(append([]*node{to}, from...)...)
	floods := make(map[bmi.Addr]*flood)
	left := make(map[bmi.Addr][]message)
	total := 0
	for _, n := range from {
		f := n.flood(to, 0, 100, 50)
		floods[to.addr(n)], left[to.addr(n)] = f, f.ms
		total += len(f.ms)
	}
	lastFinished := 0
	for i := range total {
		u := to.take(1)
		rest := left[u[0].From]
		require.NotEmpty(t, rest, "message from %s, who has sent everything", u[0].From)
		w.requireUnexpected(u[0], 0, u[0].Tag, rest[0])
		u[0].Release()
		if left[u[0].From] = rest[1:]; len(rest) == 1 {
			lastFinished = i
		}
	}
	require.Equal(t, total-1, lastFinished)
	// The order may vary, but no sender waits for all the others.
	for _, f := range floods {
		assert.NotEmpty(t, f.ms)
		w.done(f.sends...)
	}
}
