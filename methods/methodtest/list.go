package methodtest

import (
	"math/rand/v2"

	"github.com/stretchr/testify/require"
)

// Lists: a message is the bytes of its pieces in order, however each side divides
// it.
var listTests = Tests{
	{"ListSplits", true, testListSplits},
	{"ListAgainstOnePiece", true, testListAgainstOnePiece},
	{"ListRandomSplits", true, testListRandomSplits},
	{"ListOfManyPieces", true, testListOfManyPieces},
	{"ListUnexpected", true, testListUnexpected},
}

// lists skips the test for methods that do not support lists of at least n
// pieces.
func (n *node) lists(pieces int) {
	n.w.Helper()
	if most := n.info().MaxPieces; most < pieces {
		n.w.Skipf("the method takes lists of %d pieces only", most)
	}
}

// splits divides size in ways that reach different branches.
func splits(size int) [][]int {
	third := size / 3
	return [][]int{
		{size},
		{0, size},
		{size, 0},
		{0, third, 0, 0, size - third, 0},
		{min(1, size), size - min(1, size)},
		{size - min(1, size), min(1, size)},
		{third, third, size - 2*third},
	}
}

func testListSplits(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.lists(6)
	for _, size := range a.sizesOfEachProtocol() {
		for _, from := range splits(size) {
			for _, to := range splits(size) {
				m := w.message(size)
				r := b.recvList(a, 1, to)
				w.done(a.sendList(b, 1, m, from))
				r.got(m)
			}
		}
	}
}

func testListAgainstOnePiece(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.lists(6)
	for _, size := range a.sizesOfEachProtocol() {
		for _, split := range splits(size) {
			m, n := w.message(size), w.message(size)
			r1 := b.recv(a, 1, size)
			w.done(a.sendList(b, 1, m, split))
			r1.got(m)
			r2 := b.recvList(a, 1, split)
			w.done(a.send(b, 1, n))
			r2.got(n)
		}
	}
}

// cut cuts size into at most pieces parts at random places; many are empty.
func cut(r *rand.Rand, size, pieces int) []int {
	var out []int
	for left := size; ; {
		if len(out) == pieces-1 {
			return append(out, left)
		}
		n := 0
		if r.IntN(3) > 0 {
			n = r.IntN(left/2 + 1)
		}
		out = append(out, n)
		left -= n
	}
}

func testListRandomSplits(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.lists(2)
	r := rand.New(rand.NewPCG(1, 1))
	sizes := a.edges()
	most := min(a.info().MaxPieces, 20)
	for i := range 100 {
		m := w.message(sizes[r.IntN(len(sizes))])
		if i%4 != 0 {
			m.size = min(m.size, 10000)
		}
		recv := b.recvList(a, 1, cut(r, m.size+r.IntN(100), 1+r.IntN(most)))
		w.done(a.sendList(b, 1, m, cut(r, m.size, 1+r.IntN(most))))
		recv.got(m)
	}
}

func testListOfManyPieces(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.lists(2)
	pieces := min(a.info().MaxPieces, 1024)
	for _, each := range []int{1, 7, 100} {
		m := w.message(pieces * each)
		split := make([]int, pieces)
		for i := range split {
			split[i] = each
		}
		r := b.recvList(a, 1, split)
		w.done(a.sendList(b, 1, m, split))
		r.got(m)
		r2 := b.recv(a, 1, m.size)
		w.done(a.sendList(b, 1, m, split))
		r2.got(m)
	}
}

func testListUnexpected(t T, s *Subject) {
	w, a, b := pair(t, s)
	a.lists(6)
	for _, size := range []int{0, 1, 100, a.info().MaxUnexpectedSize} {
		for _, split := range splits(size) {
			m := w.message(size)
			u := a.sendUnexpectedList(b, 0, 9, m, split)
			got := b.take(1)
			require.Len(t, got, 1)
			w.requireUnexpected(got[0], 0, 9, m)
			got[0].Release()
			w.done(u)
		}
	}
}
