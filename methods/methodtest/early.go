package methodtest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Messages that arrive before their receive is posted wait for it.
var earlyTests = Tests{
	{"Early", true, testEarly},
	{"EarlyManyTags", false, testEarlyManyTags},
	{"EarlyFromManyPeers", false, testEarlyFromManyPeers},
	{"EarlyFlood", false, testEarlyFlood},
}

// arrived makes sure that everything sent from a to b so far has arrived, because
// a later message has.
func (w *world) arrived(a, b *node) {
	w.Helper()
	const tag = 0xfeed
	w.exchange(a, b, tag, w.message(1))
}

// early omits the sizes that block later messages until their receive is posted.
func (w *world) early(sizes []int) []int {
	if !w.s.HeadOfLine {
		return sizes
	}
	eager := w.live()[0].info().EagerSize
	return slices.DeleteFunc(sizes, func(n int) bool { return n > eager })
}

func testEarly(t T, s *Subject) {
	w, a, b := pair(t, s)
	for _, size := range w.early(a.sizesOfEachProtocol()) {
		m := w.message(size)
		send := a.send(b, 1, m)
		w.arrived(a, b)
		r := b.recv(a, 1, size+100)
		w.done(send)
		r.got(m)
	}
}

func testEarlyManyTags(t T, s *Subject) {
	w, a, b := pair(t, s)
	const tags = 64
	size := mixed(w.early(a.sizesOfEachProtocol()))
	var sends, recvs []*op
	var ms []message
	for tag := range tags {
		ms = append(ms, w.message(size(tag)))
		sends = append(sends, a.send(b, bmi.Tag(tag), ms[tag]))
	}
	w.arrived(a, b)
	for i := range tags { // 27 and 64 have no common factor
		tag := i * 27 % tags
		recvs = append(recvs, b.recv(a, bmi.Tag(tag), ms[tag].size))
	}
	w.done(sends...)
	for i, r := range recvs {
		r.got(ms[i*27%tags])
	}
}

func testEarlyFromManyPeers(t T, s *Subject) {
	w := newWorld(t, s)
	to := w.open("receiver")
	const senders = 4
	var from []*node
	var sends []*op
	ms := make([][]message, senders)
	for range senders {
		from = append(from, w.open("sender"))
	}
	size := mixed(w.early(to.sizesOfEachProtocol()))
	w.meet(append([]*node{to}, from...)...)
	for k := range 5 {
		for i := range senders {
			ms[i] = append(ms[i], w.message(size(k+i)))
			sends = append(sends, from[i].send(to, 1, ms[i][k]))
		}
	}
	for i := range senders {
		w.arrived(from[i], to)
	}
	for i := senders - 1; i >= 0; i-- {
		for _, m := range ms[i] {
			r := to.recv(from[i], 1, m.size)
			r.got(m)
		}
	}
	w.done(sends...)
}

// testEarlyFlood sends much more than a method keeps. The method must hold the
// sender back, lose nothing, and serve its other peers meanwhile.
func testEarlyFlood(t T, s *Subject) {
	w, a, b := pair(t, s)
	c := w.open("c")
	w.meet(a, b, c)
	const count = 3000
	a.impatient = true
	size := min(4096, a.info().MaxExpectedSize)
	var sends []*op
	var ms []message
	for range count {
		m := w.message(size)
		o, err := a.trySend(b, 1, m)
		if isAgain(err) {
			break // the sender's own limit; that many are enough
		}
		require.NoError(t, err)
		ms, sends = append(ms, m), append(sends, o)
	}
	w.exchange(c, b, 1, w.message(100))
	w.exchange(b, c, 1, w.message(100))
	a.impatient = false
	for _, m := range ms {
		b.recv(a, 1, size).got(m)
	}
	w.done(sends...)
	w.exchange(a, b, 1, w.message(100))
}
