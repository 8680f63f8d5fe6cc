package methodtest

import (
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A receive shorter than its message fails with ErrTruncated, and affects nothing
// else: not the sender, not the bytes beside the buffer, not the next message.
var truncateTests = Tests{
	{"Truncated", true, testTruncated},
	{"TruncatedEarly", true, testTruncatedEarly},
	{"TruncatedList", true, testTruncatedList},
	{"TruncatedByOne", true, testTruncatedByOne},
}

// truncated requires that the receive failed with ErrTruncated.
func (w *world) truncated(r *op, m message) {
	w.Helper()
	w.failed([]*op{r}, bmi.ErrTruncated)
	require.Equal(w, m.size, r.c.Size, "%v: the completion tells the length of the message", r)
}

func testTruncated(t T, s *Subject) {
	w, a, b := pair(t, s)
	for _, size := range a.sizesOfEachProtocol() {
		for _, room := range []int{0, 1, size / 2, size - 1} {
			if room < 0 || room >= size {
				continue
			}
			long, next := w.message(size), w.message(size)
			r1, r2 := b.recv(a, 1, room), b.recv(a, 1, size)
			s1, s2 := a.send(b, 1, long), a.send(b, 1, next)
			w.done(s1, s2)
			w.truncated(r1, long)
			r2.got(next)
		}
	}
}

func testTruncatedEarly(t T, s *Subject) {
	w, a, b := pair(t, s)
	for _, size := range w.early(a.sizesOfEachProtocol()) {
		for _, room := range []int{0, 1, size - 1} {
			if room < 0 || room >= size {
				continue
			}
			long, next := w.message(size), w.message(size)
			s1, s2 := a.send(b, 1, long), a.send(b, 1, next)
			w.arrived(a, b)
			r1, r2 := b.recvErr(a, 1, room), b.recv(a, 1, size)
			w.done(s1, s2)
			w.truncated(r1, long)
			r2.got(next)
		}
	}
}

// recvErr posts a receive that must fail, but must be accepted.
func (l *lane) recvErr(from *node, tag bmi.Tag, size int) *op {
	l.t.Helper()
	r := l.recv(from, tag, size)
	require.False(l.t, r.immediate, "%v is done, though its message is longer", r)
	return r
}

func testTruncatedList(t T, s *Subject) {
	w, a, b := pair(t, s)
	if a.info().MaxPieces < 3 {
		t.Skipf("the method takes lists of %d pieces only", a.info().MaxPieces)
	}
	for _, size := range a.sizesOfEachProtocol() {
		if size < 8 {
			continue
		}
		long, next := w.message(size), w.message(size)
		r1 := b.recvList(a, 1, []int{size / 2, 0, size/2 - 1})
		r2 := b.recvList(a, 1, []int{1, size - 1})
		s1 := a.sendList(b, 1, long, []int{size - 3, 3})
		s2 := a.sendList(b, 1, next, []int{3, size - 3})
		w.done(s1, s2)
		w.truncated(r1, long)
		r2.got(next)
	}
}

func testTruncatedByOne(t T, s *Subject) {
	w, a, b := pair(t, s)
	eager := a.info().EagerSize
	for _, size := range []int{1, 2, 63, 64, 65, 4096, 4097, eager, eager + 1} {
		if size < 1 || size > a.info().MaxExpectedSize {
			continue
		}
		long := w.message(size)
		r := b.recv(a, 1, size-1)
		w.done(a.send(b, 1, long))
		w.truncated(r, long)
		w.exchange(a, b, 1, w.message(size)) // exactly enough room
	}
}
