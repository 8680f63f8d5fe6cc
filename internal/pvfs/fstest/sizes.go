package fstest

import (
	"io"
	"os"

	"github.com/stretchr/testify/require"
)

// strip is the default number of contiguous bytes of a file on one server.
const strip = 65536

// sizes are near the limits of strips, of small messages and of flow buffers, and between these.
var sizes = []int{
	0, 1, 2, 511, 4095, 4096, 4097, 6767, 6768, 6769, 13536, 16343, 16344, 16345, 16384,
	strip - 1, strip, strip + 1, strip + 6768, strip + 6769, strip + 16345, 2*strip - 1, 2 * strip, 2*strip + 1,
	3*strip - 1, 3 * strip, 3*strip + 1, 4*strip - 1, 4 * strip, 4*strip + 1, 5*strip + 4711,
	8*strip - 1, 8 * strip, 8*strip + 1, 1<<20 + 1, 3<<20 + 12345,
}

// sizeCases write files of every size, and read them in several ways.
var sizeCases = func() Cases {
	var out Cases
	for _, n := range sizes {
		out = append(out, one(name("SizeOf%d", n), func(e *Env) {
			e.root.put("f", text(7, n))
			e.root.holds("f", text(7, n))
			e.root.put("f", text(8, n))
			e.root.holds("f", text(8, n))
		}))
	}
	for _, piece := range []int{1000, 4096, 6768, 16344, 16345, 60000, strip, strip + 1, 100000} {
		out = append(out,
			one(name("WriteInPiecesOf%d", piece), func(e *Env) { writeInPieces(e, piece) }),
			one(name("ReadInPiecesOf%d", piece), func(e *Env) { readInPieces(e, piece) }),
			one(name("WriteBackwardsInPiecesOf%d", piece), func(e *Env) { writeBackwards(e, piece) }),
		)
	}
	for _, c := range []struct{ off, n int }{
		{0, 1}, {strip - 1, 1}, {strip, 1}, {strip - 1, 2}, {strip - 10, 20}, {0, strip}, {strip, strip},
		{1, strip}, {strip - 1, strip + 2}, {2*strip - 5, 10}, {100, 3 * strip}, {strip + 6000, 6769}, {60000, 80000},
		{3*strip - 1, 2*strip + 2}, {299999, 1}, {0, 300000},
	} {
		out = append(out, one(name("Overwrite%dAt%d", c.n, c.off), func(e *Env) { overwrite(e, c.off, c.n) }))
	}
	return out
}()

func writeInPieces(e *Env, piece int) {
	want := text(3, 300001)
	f := e.root.open("f", os.O_WRONLY|os.O_CREATE, 0o644)
	for off := 0; off < len(want); off += piece {
		n, err := f.Write(want[off:min(off+piece, len(want))])
		require.NoError(e, err)
		require.Equal(e, min(piece, len(want)-off), n)
	}
	require.NoError(e, f.Close())
	e.root.holds("f", want)
}

func readInPieces(e *Env, piece int) {
	want := text(4, 300001)
	e.root.put("f", want)
	f := e.root.open("f", os.O_RDONLY, 0)
	for off := 0; off < len(want); off += piece {
		e.readAt(f, int64(off), want[off:min(off+piece, len(want))])
	}
	got, err := io.ReadAll(io.NewSectionReader(f, 12345, 100000))
	require.NoError(e, err)
	e.same(want[12345:112345], got, 12345)
}

// writeBackwards fills a file from its end.
func writeBackwards(e *Env, piece int) {
	want := text(5, 200001)
	f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
	for end := len(want); end > 0; end -= piece {
		off := max(end-piece, 0)
		e.writeAt(f, int64(off), want[off:end])
	}
	e.readAt(f, 0, want)
	e.root.holds("f", want)
}

func overwrite(e *Env, off, n int) {
	want := text(1, 300000)
	e.root.put("f", want)
	f := e.root.open("f", os.O_RDWR, 0)
	e.writeAt(f, int64(off), text(2, n))
	want = append(want, make([]byte, max(0, off+n-len(want)))...)
	copy(want[off:], text(2, n))
	e.readAt(f, 0, want)
	e.root.holds("f", want)
}
