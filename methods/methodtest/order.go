package methodtest

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Messages with one tag between two endpoints match in the order in which they were posted, for all
// sizes, and whether sends or receives come first.
var orderTests = Tests{
	{"OrderSmall", true, testOrderSmall},
	{"OrderMixedSizes", true, testOrderMixedSizes},
	{"OrderReceivesFirst", true, testOrderReceivesFirst},
	{"OrderSendsFirst", true, testOrderSendsFirst},
	{"OrderAlternating", true, testOrderAlternating},
	{"OrderBursts", true, testOrderBursts},
	{"OrderBothWays", false, testOrderBothWays},
	{"OrderUnexpected", true, testOrderUnexpected},
}

func testOrderSmall(t T, s *Subject) {
	w, a, b := pair(t, s)
	const count = 500
	w.stream(a, b, count, func(int) int { return 16 }, receivesInStep)
}

// mixed returns sizes that are sent in different ways, in an order without a
// period that a queue could have.
func mixed(sizes []int) func(i int) int {
	return func(i int) int { return sizes[i*i*7%31%len(sizes)] }
}

func testOrderMixedSizes(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.stream(a, b, 60, mixed(a.sizesOfEachProtocol()), receivesInStep)
}

func testOrderReceivesFirst(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.stream(a, b, 60, mixed(a.sizesOfEachProtocol()), receivesFirst)
}

func testOrderSendsFirst(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.stream(a, b, 60, mixed(a.sizesOfEachProtocol()), sendsFirst)
}

func testOrderAlternating(t T, s *Subject) {
	w, a, b := pair(t, s)
	for i := range 6 {
		w.stream(a, b, 10, mixed(a.sizesOfEachProtocol()), how(i%3))
		w.stream(b, a, 10, mixed(a.sizesOfEachProtocol()), how((i+1)%3))
	}
}

// how says when the receives of a stream are posted.
type how int

const (
	receivesFirst how = iota
	sendsFirst
	receivesInStep
)

// stream sends count messages with one tag. Every receive has room for any of
// them, so that only the order decides which receive gets which message.
func (w *world) stream(from, to *node, count int, size func(i int) int, h how) {
	w.Helper()
	const tag = 5
	var ms []message
	room := 0
	for i := range count {
		ms = append(ms, w.message(size(i)))
		room = max(room, size(i))
	}
	var sends, recvs []*op
	post := func(s, r int) {
		for len(recvs) < r {
			recvs = append(recvs, to.recv(from, tag, room))
		}
		for len(sends) < s {
			sends = append(sends, from.send(to, tag, ms[len(sends)]))
		}
	}
	switch h {
	case receivesFirst:
		post(0, count)
	case sendsFirst:
		post(count, 0)
	case receivesInStep:
		for i := range count {
			post(i+1, max(0, i-3))
		}
	}
	post(count, count)
	w.done(sends...)
	for i, r := range recvs {
		r.got(ms[i])
	}
}

// testOrderBursts: bursts and single posts follow each other in one order.
func testOrderBursts(t T, s *Subject) {
	w, a, b := pair(t, s)
	const tag = 5
	sizes := a.sizesOfEachProtocol()
	size, room := mixed(sizes), slices.Max(sizes)
	for i, count := range []int{1, 7, 70, 3} {
		ms := make([]message, count+1)
		for k := range ms {
			ms[k] = w.message(size(k))
			if count > 10 {
				ms[k].size %= 100 // the shorter bursts test large messages
			}
		}
		var sends, recvs []*op
		if i%2 == 0 {
			recvs = append(b.recvBurst(a, tag, count, room), b.recv(a, tag, room))
		}
		sends = append(a.sendBurst(b, tag, ms[:count]), a.send(b, tag, ms[count]))
		if i%2 != 0 {
			recvs = append([]*op{b.recv(a, tag, room)}, b.recvBurst(a, tag, count, room)...)
		}
		w.done(sends...)
		for k, r := range recvs {
			r.got(ms[k])
		}
	}
}

func testOrderBothWays(t T, s *Subject) {
	w, a, b := pair(t, s)
	size := mixed(a.sizesOfEachProtocol())
	const count = 40
	var ops, fromA, fromB []*op
	var ma, mb []message
	for i := range count {
		ma, mb = append(ma, w.message(size(i))), append(mb, w.message(size(i+count)))
		fromB = append(fromB, a.recv(b, 1, mb[i].size))
		fromA = append(fromA, b.recv(a, 1, ma[i].size))
		ops = append(ops, a.send(b, 1, ma[i]), b.send(a, 1, mb[i]))
	}
	w.done(ops...)
	for i := range count {
		fromA[i].got(ma[i])
		fromB[i].got(mb[i])
	}
}

func testOrderUnexpected(t T, s *Subject) {
	w, a, b := pair(t, s)
	const count = 200
	most := min(a.info().MaxUnexpectedSize, 4096)
	var sends []*op
	var ms []message
	for i := range count {
		ms = append(ms, w.message(i*37%(most+1)))
		sends = append(sends, a.sendUnexpected(b, 0, bmi.Tag(i), ms[i]))
	}
	for i := 0; i < count; {
		for _, u := range b.take(1 + i%3%(count-i)) {
			w.requireUnexpected(u, 0, bmi.Tag(i), ms[i])
			u.Release()
			i++
		}
	}
	w.done(sends...)
}
