package methodtest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Contexts divide the completions of an endpoint among its users. They do not
// divide its messages.
var contextTests = Tests{
	{"Contexts", true, testContexts},
	{"ContextsManyAtOnce", false, testContextsManyAtOnce},
	{"ContextsShareMatching", true, testContextsShareMatching},
	{"ContextClose", true, testContextClose},
	{"ContextReopened", true, testContextReopened},
}

func testContexts(t T, s *Subject) {
	w, a, b := pair(t, s)
	one, two := b.newLane(t), b.newLane(t)
	m1, m2 := w.message(10), w.message(10)
	r1, r2 := one.recv(a, 1, 10), two.recv(a, 2, 10)
	w.done(a.send(b, 1, m1), a.send(b, 2, m2))
	if r1.id != r2.id { // an id has a meaning only in its own context
		_, _, err := two.ctx.Test(r1.id, 0)
		require.ErrorIs(t, err, bmi.ErrUnknownOp)
	}
	w.done(r2)
	w.done(r1)
	r1.got(m1)
	r2.got(m2)
}

func testContextsManyAtOnce(t T, s *Subject) {
	w, a, b := pair(t, s)
	const count = 50
	var lanes []*lane
	for range count {
		lanes = append(lanes, b.newLane(t))
	}
	for range 3 {
		var recvs, back, sends []*op
		var ms, answers []message
		for i, l := range lanes {
			ms, answers = append(ms, w.message(20)), append(answers, w.message(8))
			recvs, back = append(recvs, l.recv(a, bmi.Tag(i), 20)), append(back, a.recv(b, bmi.Tag(i), 8))
		}
		for i := count - 1; i >= 0; i-- {
			sends = append(sends, lanes[i].send(a, bmi.Tag(i), answers[i]), a.send(b, bmi.Tag(i), ms[i]))
		}
		w.done(sends...)
		for i := range lanes {
			recvs[i].got(ms[i])
			back[i].got(answers[i])
		}
	}
}

// testContextsShareMatching: the order of a (peer, tag) pair does not depend on
// the contexts of the receives.
func testContextsShareMatching(t T, s *Subject) {
	w, a, b := pair(t, s)
	lanes := []*lane{b.lane, b.newLane(t), b.newLane(t)}
	from := []*lane{a.lane, a.newLane(t)}
	size := mixed(a.sizesOfEachProtocol())
	const count = 30
	var recvs, sends []*op
	var ms []message
	for i := range count {
		ms = append(ms, w.message(size(i)))
		recvs = append(recvs, lanes[i*i%3].recv(a, 1, ms[i].size))
	}
	for i := range count {
		sends = append(sends, from[i/3%2].send(b, 1, ms[i]))
	}
	w.done(sends...)
	for i, r := range recvs {
		r.got(ms[i])
	}
}

func (l *lane) close() {
	l.t.Helper()
	require.NoError(l.t, l.ctx.Close())
	l.closed = true
	for _, o := range l.ops {
		if o.pending {
			// No Test call will return it, but its memory is ours again.
			o.end(bmi.Completion{Op: o.id, Err: bmi.ErrClosed})
		}
	}
}

func testContextClose(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.exchange(a, b, 1, w.message(10))
	l := b.newLane(t)
	l.recv(a, 5, 100)
	l.recv(a, 6, 100)
	kept := b.recv(a, 7, 100)
	l.close()
	require.NoError(t, l.ctx.Close(), "closing twice is no error")
	_, err := l.ctx.PostRecv(b.addr(a), 5, make([]byte, 10), nil)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, err = l.ctx.PostSend(b.addr(a), 5, make([]byte, 10), nil)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	var out [1]bmi.Completion
	_, err = l.ctx.TestContext(out[:], 0)
	assert.ErrorIs(t, err, bmi.ErrClosed)

	// Messages for its receives go to others.
	w.exchange(a, b, 5, w.message(100))
	w.exchange(a, b, 6, w.message(100))
	m := w.message(100)
	w.done(a.send(b, 7, m))
	kept.got(m)
}

func testContextReopened(t T, s *Subject) {
	w, a, b := pair(t, s)
	for i := range 200 {
		l := b.newLane(t)
		if i%2 == 0 {
			l.recv(a, 1, 100)
		}
		if i%50 == 0 {
			m := w.message(10)
			r := l.recv(a, 2, 10)
			w.done(a.send(b, 2, m))
			r.got(m)
		}
		l.close()
	}
	w.exchange(a, b, 1, w.message(100))
}
