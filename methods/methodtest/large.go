package methodtest

import (
	"math/rand/v2"
)

// Large messages arrive whole, even several at once and in both directions.
var largeTests = Tests{
	{"Large", false, testLarge},
	{"LargeBothWays", false, testLargeBothWays},
	{"LargeManyAtOnce", false, testLargeManyAtOnce},
	{"LargeFirst", true, testLargeFirst},
	{"LargeAlloc", false, testLargeAlloc},
}

// largestShort bounds, in bytes, what the suite sends with -short.
const largestShort = 5 << 20

// largeSizes returns those of the given sizes, in ascending order, that the method can
// send; with -short not the largest of them.
func (n *node) largeSizes(sizes ...int) []int {
	var out []int
	for _, size := range sizes {
		if size <= n.info().MaxExpectedSize && (len(out) == 0 || size <= largestShort || !short()) {
			out = append(out, size)
		}
	}
	if out == nil {
		n.w.Skipf("the method's largest message has %d bytes", n.info().MaxExpectedSize)
	}
	return out
}

func testLarge(t T, s *Subject) {
	w, a, b := pair(t, s)
	for _, size := range a.largeSizes(1<<20, 1<<20+4093, 5_000_011, 16<<20, 64<<20) {
		w.exchange(a, b, 1, w.message(size))
	}
}

func testLargeBothWays(t T, s *Subject) {
	w, a, b := pair(t, s)
	for _, size := range a.largeSizes(1<<20, 8<<20+1) {
		const each = 2
		var ops, fromA, fromB []*op
		var ma, mb []message
		// Every send is posted before any receive: neither side may need the other's
		// receives.
		for i := range each {
			ma, mb = append(ma, w.message(size)), append(mb, w.message(size))
			ops = append(ops, a.send(b, 1, ma[i]), b.send(a, 1, mb[i]))
		}
		for range each {
			fromB, fromA = append(fromB, a.recv(b, 1, size)), append(fromA, b.recv(a, 1, size))
		}
		w.done(ops...)
		for i := range each {
			fromA[i].got(ma[i])
			fromB[i].got(mb[i])
		}
	}
}

func testLargeManyAtOnce(t T, s *Subject) {
	w, a, b := pair(t, s)
	size := min(1<<20, a.info().MaxExpectedSize)
	const count = 16
	var sends, recvs []*op
	var ms []message
	for i := range count {
		ms = append(ms, w.message(size-i))
		recvs = append(recvs, b.recv(a, 1, size))
	}
	for _, m := range ms {
		sends = append(sends, a.send(b, 1, m))
	}
	w.done(sends...)
	for i, r := range recvs {
		r.got(ms[i])
	}
}

// testLargeFirst makes a large message the first one between two endpoints.
func testLargeFirst(t T, s *Subject) {
	w, a, b := pair(t, s)
	w.exchange(a, b, 1, w.message(min(a.info().EagerSize+100_000, a.info().MaxExpectedSize)))
}

func testLargeAlloc(t T, s *Subject) {
	w, a, b := pair(t, s)
	sizes := a.largeSizes(1<<20, 4<<20)
	size := sizes[len(sizes)-1]
	r := rand.New(rand.NewPCG(2, 2))
	sender, receiver := a.alloc(b, size), b.alloc(a, size)
	part := func(of *memory, at, n int) *memory {
		of.parts = append(of.parts, memoryOf(of.pieces[0][at:at+n:at+n]))
		return of.parts[len(of.parts)-1]
	}
	for range 4 {
		// Any part of such memory can be used, with plain memory on the other side.
		n := size/2 + r.IntN(size/4)
		at := r.IntN(size / 4)
		m := w.message(n)
		recv := b.recvMemory(a, 1, part(receiver, at, n))
		w.done(a.send(b, 1, m))
		recv.got(m)
		m = w.message(n)
		recv = b.recv(a, 1, n)
		w.done(a.sendMemory(b, 1, m, part(sender, at, n)))
		recv.got(m)
	}
	a.free(b, sender)
	b.free(a, receiver)
}
