package methodtest

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A receive takes messages of its peer and its tag, and no others.
var matchTests = Tests{
	{"MatchTags", true, testMatchTags},
	{"MatchEveryBitOfTheTag", true, testMatchEveryBitOfTheTag},
	{"MatchPeers", true, testMatchPeers},
	{"MatchAmongMany", false, testMatchAmongMany},
	{"UnexpectedIsNotExpected", true, testUnexpectedIsNotExpected},
}

func testMatchTags(t T, s *Subject) {
	w, a, b := pair(t, s)
	const tags = 20
	for _, size := range a.sizesOfEachProtocol() {
		var sends []*op
		recvs, ms := make([]*op, tags), make([]message, tags)
		for tag := range bmi.Tag(tags) {
			ms[tag] = w.message(size)
			recvs[tag] = b.recv(a, tag, size)
		}
		for tag := tags - 1; tag >= 0; tag-- { // in the reverse order of the receives
			sends = append(sends, a.send(b, bmi.Tag(tag), ms[tag]))
		}
		w.done(sends...)
		for tag, r := range recvs {
			r.got(ms[tag])
		}
	}
}

func testMatchEveryBitOfTheTag(t T, s *Subject) {
	w, a, b := pair(t, s)
	tags := []bmi.Tag{0, math.MaxUint32}
	for bit := range 32 {
		tags = append(tags, 1<<bit)
	}
	var sends, recvs []*op
	var ms []message
	for _, tag := range tags {
		recvs, ms = append(recvs, b.recv(a, tag, 8)), append(ms, w.message(8))
	}
	for i := len(tags) - 1; i >= 0; i-- { // in the reverse order of the receives
		sends = append(sends, a.send(b, tags[i], ms[i]))
	}
	w.done(sends...)
	for i, r := range recvs {
		r.got(ms[i])
	}
	for i, tag := range tags {
		u := a.sendUnexpected(b, 0, tag, ms[i])
		got := b.take(1)
		w.requireUnexpected(got[0], 0, tag, ms[i])
		got[0].Release()
		w.done(u)
	}
}

func testMatchPeers(t T, s *Subject) {
	w := newWorld(t, s)
	to := w.open("receiver")
	const senders = 4
	var from []*node
	for range senders {
		from = append(from, w.open("sender"))
	}
	w.meet(append([]*node{to}, from...)...)
	for _, size := range to.sizesOfEachProtocol() {
		var recvs, sends []*op
		var ms []message
		for i := range senders {
			ms = append(ms, w.message(size))
			recvs = append(recvs, to.recv(from[i], 1, size))
		}
		// In the reverse order of the receives, all with one tag.
		for i := senders - 1; i >= 0; i-- {
			sends = append(sends, from[i].send(to, 1, ms[i]))
		}
		w.done(sends...)
		for i, r := range recvs {
			r.got(ms[i])
		}
	}
}

func testMatchAmongMany(t T, s *Subject) {
	w, a, b := pair(t, s)
	const posted = 2000
	var waiting []*op
	for i := range posted {
		waiting = append(waiting, b.recv(a, bmi.Tag(1000+i), 8))
	}
	w.exchange(a, b, 1, w.message(8))
	ms := make([]message, posted)
	var sends []*op
	for i := range posted { // 7 and 2000 have no common factor: every tag once
		k := i * 7 % posted
		ms[k] = w.message(8)
		sends = append(sends, a.send(b, bmi.Tag(1000+k), ms[k]))
	}
	w.done(sends...)
	for i, r := range waiting {
		r.got(ms[i])
	}
}

func testUnexpectedIsNotExpected(t T, s *Subject) {
	w, a, b := pair(t, s)
	expected, unexpected := w.message(10), w.message(10)
	r := b.recv(a, 1, 10)
	u := a.sendUnexpected(b, 0, 1, unexpected)
	got := b.take(1)
	w.requireUnexpected(got[0], 0, 1, unexpected)
	got[0].Release()
	require.True(t, r.pending, "an unexpected message matches no receive")
	send := a.send(b, 1, expected)
	w.done(u, send)
	r.got(expected)
}
