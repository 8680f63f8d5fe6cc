package methodtest

import (
	"math"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Sizes: empty messages, the sizes at which a method changes its protocol, and the
// largest messages.
var sizeTests = Tests{
	{"ZeroLength", true, testZeroLength},
	{"SizesAroundEdges", true, testSizesAroundEdges},
	{"MaxExpectedSize", true, testMaxExpectedSize},
	{"MaxUnexpectedSize", true, testMaxUnexpectedSize},
	{"RoomToSpare", true, testRoomToSpare},
}

func testZeroLength(t T, s *Subject) {
	w, a, b := pair(t, s)
	empty := w.message(0)
	w.exchange(a, b, 1, empty)
	early := a.send(b, 1, empty)
	w.arrived(a, b)
	r := b.recv(a, 1, 0)
	w.done(early)
	r.got(empty)

	// A nil buffer is an empty one.
	null := memoryOf(nil)
	r = b.recvMemory(a, 2, null)
	w.done(a.sendMemory(b, 2, empty, memoryOf(nil)))
	r.got(empty)

	u := a.sendUnexpected(b, 0, 3, empty)
	got := b.take(1)
	w.requireUnexpected(got[0], 0, 3, empty)
	got[0].Release()
	w.done(u)

	if a.info().MaxPieces >= 3 {
		r = b.recvList(a, 4, []int{0, 0})
		w.done(a.sendList(b, 4, empty, []int{0, 0, 0}))
		r.got(empty)
	}
}

// edges are the sizes around every boundary that a method may have inside.
func (n *node) edges() []int {
	i := n.info()
	const page, mtu, jumbo, datagram = 4096, 1500, 9000, 65536
	at := []int{
		8, 16, 32, 48, 64, 128, 256, 512, 1024, mtu, 2 * mtu, 3 * mtu, page, 2 * page,
		jumbo, 2 * jumbo, datagram, 2 * datagram, 1 << 18, 1 << 20,
		i.EagerSize, 2 * i.EagerSize, i.EagerSize - 64, i.MaxUnexpectedSize,
	}
	var out []int
	for _, e := range at {
		for _, size := range []int{e - 1, e, e + 1} {
			if size >= 0 && size <= min(i.MaxExpectedSize, 1<<21) {
				out = append(out, size)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func testSizesAroundEdges(t T, s *Subject) {
	w, a, b := pair(t, s)
	for _, size := range a.edges() {
		w.exchange(a, b, 1, w.message(size))
	}
	for _, size := range a.edges() {
		if size > a.info().MaxUnexpectedSize {
			break
		}
		m := w.message(size)
		u := a.sendUnexpected(b, 0, 1, m)
		got := b.take(1)
		w.requireUnexpected(got[0], 0, 1, m)
		got[0].Release()
		w.done(u)
	}
}

// largestSent bounds the size with which the suite tests a method's largest message, in
// bytes.
func largestSent() int {
	if short() {
		return largestShort
	}
	return 64 << 20
}

func testMaxExpectedSize(t T, s *Subject) {
	w, a, b := pair(t, s)
	limit := a.info().MaxExpectedSize
	if limit <= largestSent() {
		w.exchange(a, b, 1, w.message(limit))
	} else {
		t.Logf("the largest message, %d bytes, is not sent but refused one over", limit)
	}
	pieces := a.over(limit)
	if pieces == nil {
		t.Skipf("no memory for a message over the limit of %d bytes", limit)
	}
	addr := a.addr(b)
	var err error
	if len(pieces) == 1 {
		_, err = a.ctx.PostSend(addr, 1, pieces[0], nil)
	} else {
		_, err = a.ctx.PostSendList(addr, 1, pieces, nil)
	}
	require.ErrorIs(t, err, bmi.ErrTooLarge, "a message of one byte over the limit")
	w.exchange(a, b, 1, w.message(100))
}

// over makes pieces of limit+1 bytes in all, with the same memory many times if the limit
// is large; nil if even that is not enough.
func (n *node) over(limit int) [][]byte {
	const chunkMax = 64 << 20
	if limit == math.MaxInt {
		return nil
	}
	chunk := make([]byte, min(limit+1, chunkMax))
	if limit/len(chunk)+1 > min(n.info().MaxPieces, 1<<20) {
		return nil
	}
	var out [][]byte
	for left := limit + 1; left > 0; left -= len(chunk) {
		out = append(out, chunk[:min(left, len(chunk))])
	}
	return out
}

func testMaxUnexpectedSize(t T, s *Subject) {
	w, a, b := pair(t, s)
	limit := a.info().MaxUnexpectedSize
	addr := a.addr(b)
	if limit > largestSent() {
		t.Skipf("unexpected messages of %d bytes are more than the suite sends", limit)
	}
	m := w.message(limit)
	u := a.sendUnexpected(b, 0, 1, m)
	got := b.take(1)
	w.requireUnexpected(got[0], 0, 1, m)
	got[0].Release()
	w.done(u)

	over := make([]byte, limit+1)
	_, err := a.ctx.PostSendUnexpected(addr, 0, 1, over, nil)
	require.ErrorIs(t, err, bmi.ErrTooLarge, "an unexpected message of one byte over the limit")
	if a.info().MaxPieces >= 2 {
		_, err = a.ctx.PostSendUnexpectedList(addr, 0, 1, [][]byte{over[:limit], over[limit:]}, nil)
		require.ErrorIs(t, err, bmi.ErrTooLarge, "two pieces that are one byte over the limit together")
	}
	w.exchange(a, b, 1, w.message(100))
}

func testRoomToSpare(t T, s *Subject) {
	w, a, b := pair(t, s)
	for _, size := range a.sizesOfEachProtocol() {
		m := w.message(size)
		mem := newMemory(size + 1000)
		set(mem.pieces[0], marginByte)
		r := b.recvMemory(a, 1, mem)
		w.done(a.send(b, 1, m), r)
		require.True(t, all(mem.pieces[0][size:], marginByte), "%v: bytes behind the message were written to", r)
		r.got(m)
	}
}
