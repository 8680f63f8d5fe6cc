package fstest

import (
	"os"
	"syscall"

	"github.com/stretchr/testify/require"
)

var truncateSizes = []int{0, 1, 1000, strip - 1, strip, strip + 1, 100000, 2 * strip, 3*strip + 7}

// truncateCases set every size from every other, and check that truncated bytes are gone.
var truncateCases = func() Cases {
	var out Cases
	for _, from := range truncateSizes {
		for _, to := range truncateSizes {
			if from != to {
				out = append(out, one(name("TruncateFrom%dTo%d", from, to), func(e *Env) { truncated(e, from, to) }))
			}
		}
	}
	return append(out,
		one("TruncateByHandle", func(e *Env) {
			f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
			e.writeAt(f, 0, text(1, 100000))
			for _, n := range []int64{70000, 65536, 65535, 10, 0} {
				require.NoError(e, f.Truncate(n))
				e.root.holds("f", text(1, 100000)[:n])
			}
		}),
		one("TruncateToTheSameSize", func(e *Env) {
			e.root.put("f", text(1, 100000))
			e.root.truncate("f", 100000)
			e.root.holds("f", text(1, 100000))
		}),
		one("TruncateToNegative", func(e *Env) {
			e.root.put("f", text(1, 10))
			e.fails(e.root.fs.Truncate(e.at("f"), -1), syscall.EINVAL)
			e.root.holds("f", text(1, 10))
		}),
		one("TruncateOfDirectory", func(e *Env) {
			e.root.mkdir("d")
			e.fails(e.root.fs.Truncate(e.at("d"), 0), syscall.EISDIR)
		}),
		Case{"TruncateUpToHuge", []Ability{Huge}, func(e *Env) {
			e.root.put("f", text(1, 10))
			e.root.truncate("f", 1<<41+5)
			require.EqualValues(e, 1<<41+5, e.root.lstat("f").Size)
			f := e.root.open("f", os.O_RDONLY, 0)
			e.readAt(f, 0, append(text(1, 10), make([]byte, 10)...))
			e.readAt(f, 1<<41, make([]byte, 5))
		}},
		Case{"TruncateThroughSymlink", []Ability{Symlinks}, func(e *Env) {
			e.root.put("f", text(1, 100))
			e.root.symlink("f", "l")
			e.root.truncate("l", 50)
			e.root.holds("f", text(1, 50))
			require.Equal(e, IsSymlink, e.root.lstat("l").Kind)
		}},
		one("TruncateManyTimes", func(e *Env) {
			f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
			e.writeAt(f, 0, text(1, 200000))
			want := text(1, 200000)
			for i := range 30 {
				n := (i*37717 + 5) % 200000
				require.NoError(e, f.Truncate(int64(n)))
				if n < len(want) {
					want = want[:n]
				} else {
					want = append(want[:len(want):len(want)], make([]byte, n-len(want))...)
				}
				e.readAt(f, 0, want)
			}
			e.root.holds("f", want)
		}),
	)
}()

func truncated(e *Env, from, to int) {
	e.root.put("f", text(1, from))
	e.root.truncate("f", int64(to))
	want := make([]byte, to)
	copy(want, text(1, from))
	e.root.holds("f", want)

	// Truncated bytes must not reappear when the file grows again.
	grown := max(from, to) + 10
	f := e.root.open("f", os.O_RDWR, 0)
	e.writeAt(f, int64(grown), []byte("end"))
	want = append(append(want, make([]byte, grown-to)...), "end"...)
	e.readAt(f, 0, want)
	e.root.holds("f", want)
}
