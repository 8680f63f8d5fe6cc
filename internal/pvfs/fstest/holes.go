package fstest

import (
	"io"
	"os"

	"github.com/stretchr/testify/require"
)

// holeCases write far beyond the end of a file: the hole reads as zeros.
var holeCases = func() Cases {
	var out Cases
	for _, off := range []int{1, 4095, 4096, 16345, strip - 1, strip, strip + 1, 2*strip - 1, 2 * strip, 3*strip + 5, 10*strip + 1, 1<<20 + 77} {
		out = append(out,
			one(name("HoleUpTo%d", off), func(e *Env) {
				f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
				e.writeAt(f, int64(off), []byte("end"))
				want := append(make([]byte, off), "end"...)
				e.readAt(f, 0, want)
				e.root.holds("f", want)
			}),
			one(name("HoleOf%dBetween", off), func(e *Env) {
				f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
				e.writeAt(f, 0, text(1, 1000))
				e.writeAt(f, int64(1000+off), text(2, 1000))
				want := append(append(text(1, 1000), make([]byte, off)...), text(2, 1000)...)
				e.readAt(f, 0, want)
				e.root.holds("f", want)
			}),
		)
	}
	for _, off := range []int64{1<<31 - 2, 1<<32 - 2, 1<<32 + 5, 1 << 36, 1<<40 + 12345} {
		out = append(out, Case{name("HugeHoleUpTo%d", off), []Ability{Huge}, func(e *Env) { hugeHole(e, off) }})
	}
	return append(out,
		one("HoleReadByItself", func(e *Env) {
			f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
			e.writeAt(f, 10*strip, []byte("end"))
			for _, off := range []int64{0, 100, strip - 1, strip, 3*strip + 7, 9*strip + 1} {
				e.readAt(f, off, make([]byte, 5000))
			}
		}),
		one("HoleIsFilled", func(e *Env) {
			f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
			e.writeAt(f, 4*strip, text(1, 10))
			e.writeAt(f, strip+100, text(2, strip))
			want := make([]byte, 4*strip+10)
			copy(want[strip+100:], text(2, strip))
			copy(want[4*strip:], text(1, 10))
			e.readAt(f, 0, want)
			e.root.holds("f", want)
		}),
		one("EveryOtherBlock", everyOtherBlock),
	)
}()

func hugeHole(e *Env, off int64) {
	f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
	e.writeAt(f, off, text(1, 100))
	require.Equal(e, off+100, e.root.lstat("f").Size)
	e.readAt(f, off, text(1, 100))
	e.readAt(f, 0, make([]byte, 100))
	e.readAt(f, off-50, append(make([]byte, 50), text(1, 50)...))
	n, err := f.ReadAt(make([]byte, 10), off+100)
	require.Zero(e, n)
	require.ErrorIs(e, err, io.EOF)
	require.NoError(e, f.Truncate(5))
	e.root.holds("f", make([]byte, 5))
}

func everyOtherBlock(e *Env) {
	f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
	const block = 30000
	want := make([]byte, 15*block)
	for i := 0; i < 15; i += 2 {
		copy(want[i*block:], text(uint64(i), block))
		e.writeAt(f, int64(i*block), text(uint64(i), block))
	}
	e.readAt(f, 0, want)
	e.root.holds("f", want)
}
