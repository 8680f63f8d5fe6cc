package stacktest

import (
	"io"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

var lowWaterTests = []test{
	{"a low-water mark that is reached", func(t T, w *world) {
		a, b := w.pair()
		data, in := make([]byte, 70_000), make([]byte, 70_000)
		for _, size := range []int{1, 2, 1000, len(data)} {
			w.takeAll(b)
			sent, got, mark := 0, 0, 0
			w.until("received, with the mark at what is left", func() bool {
				if left := size - got; !b.readable && mark != left && left > 0 {
					mark = left
					b.patient().LowWater(mark)
				}
				n, err := a.send1(data[sent:size])
				require.NoError(t, err)
				sent += n
				n, err = b.recv1(in)
				require.NoError(t, err)
				got += n
				return got == size
			})
		}
	}},
	{"a low-water mark that is lowered", func(t T, w *world) {
		a, b := w.pair()
		for range 10 {
			b.patient().LowWater(1000)
			w.gives(a, 0, 10)
			w.arrives(a)
			b.patient().LowWater(10)
			w.takes(b, 0, 10)
			w.takeAll(b)
		}
	}},
	{"a low-water mark that was passed before", func(t T, w *world) {
		a, b := w.pair()
		for range 10 {
			w.gives(a, 0, 1000)
			w.arrives(a)
			b.patient().LowWater(500)
			w.takes(b, 0, 1000)
			w.takeAll(b)
		}
	}},
	{"a low-water mark that no buffer has room for", func(t T, w *world) {
		a, b := w.pair()
		b.patient().LowWater(1 << 30)
		const count = 64 << 20
		data, in := make([]byte, 100_000), make([]byte, 100_000)
		sent, got := 0, 0
		w.until("some went through all the same", func() bool {
			n, err := a.send1(data[:min(len(data), count-sent)])
			require.NoError(t, err)
			sent += n
			n, err = b.recv1(in)
			require.NoError(t, err)
			got += n
			return got > 0
		})
	}},
	{"an end below the low-water mark", func(t T, w *world) {
		a, b := w.pair()
		b.patient().LowWater(1000)
		w.gives(a, 0, 10)
		w.settle()
		require.NoError(t, a.stream.Finish())
		w.takes(b, 0, 10)
		require.ErrorIs(t, w.ends(b), io.EOF)
	}},
}

// patient is the stream of an end, if it has a low-water mark.
func (e *end) patient() stack.Patient {
	p, ok := e.stream.(stack.Patient)
	if !ok {
		e.n.w.t.Skip("the streams have no low-water mark")
	}
	return p
}

// takeAll receives until nothing is there, so that the next event belongs to a later
// arrival.
func (w *world) takeAll(e *end) {
	var b [100]byte
	for e.readable {
		_, err := e.recv1(b[:])
		require.NoError(w.t, err)
	}
}
