package fstest

import (
	"os"

	"github.com/stretchr/testify/require"
)

// borderCases grow a file from one server to many while it is in use.
var borderCases = func() Cases {
	var out Cases
	for _, first := range []int{0, 1, 1000, strip - 1, strip} {
		for _, second := range []int{strip, strip + 1, 2*strip - 1, 2 * strip, 5*strip + 1} {
			out = append(out, one(name("GrowsFrom%dTo%d", first, second), func(e *Env) { grows(e, first, second) }))
		}
	}
	return append(out,
		one("GrowsUnderAnotherHandle", func(e *Env) {
			a := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
			b := e.root.open("f", os.O_RDWR, 0)
			e.writeAt(a, 0, text(1, 100))
			e.readAt(b, 0, text(1, 100))
			e.writeAt(b, 100, text(2, 3*strip))
			want := append(text(1, 100), text(2, 3*strip)...)
			e.readAt(a, 0, want)
			e.writeAt(a, strip+5, text(3, strip))
			copy(want[strip+5:], text(3, strip))
			e.readAt(b, 0, want)
			e.root.holds("f", want)
		}),
		one("GrowsByTruncateUnderAnotherHandle", func(e *Env) {
			a := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
			e.writeAt(a, 0, text(1, 100))
			e.root.truncate("f", 3*strip)
			e.writeAt(a, 100, text(2, 2*strip))
			want := append(append(text(1, 100), text(2, 2*strip)...), make([]byte, strip-100)...)
			e.readAt(a, 0, want)
			e.root.holds("f", want)
		}),
		one("GrowsFromBothEnds", func(e *Env) {
			a := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
			e.writeAt(a, 2*strip, text(1, 100))
			e.writeAt(a, 0, text(2, 100))
			require.NoError(e, a.Truncate(200))
			e.root.holds("f", append(text(2, 100), make([]byte, 100)...))
		}),
		one("ShrinksAndGrowsAgain", func(e *Env) {
			for i := range 5 {
				e.root.put("f", text(uint64(i), 3*strip+i))
				e.root.holds("f", text(uint64(i), 3*strip+i))
				e.root.put("f", text(uint64(i), 10))
				e.root.holds("f", text(uint64(i), 10))
			}
		}),
	)
}()

func grows(e *Env, first, second int) {
	f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
	want := text(1, second)
	e.writeAt(f, 0, want[:first])
	e.root.holds("f", want[:first])
	e.writeAt(f, int64(first), want[first:])
	e.readAt(f, 0, want)
	e.root.holds("f", want)
}
