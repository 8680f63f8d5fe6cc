package stacktest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

var allocTests = []test{
	{"no allocation for a message", func(t T, w *world) {
		if w.s.Allocates || w.s.Step != nil {
			t.Skip("the stack allocates")
		}
		a, b := w.pair()
		out := [][]byte{make([]byte, 24), make([]byte, 100)}
		in := [][]byte{make([]byte, 64), make([]byte, 1000)}
		w.until("both are writable", func() bool { return a.writable && b.writable })
		assert.Zero(t, testing.AllocsPerRun(200, func() {
			roundTrip(t, a, b, out, in)
			roundTrip(t, b, a, out[:1], in[1:])
		}))
	}},
	{"no allocation for sleeping", sleeping(func(t T, w *world, a, b *end, s stack.Sleeper) {
		if w.s.Allocates {
			t.Skip("the stack allocates")
		}
		w.bed(b.n, s).SleepAllocatesNothing()
	})},
}

// roundTrip moves one message, and makes calls that return ErrAgain before and
// after.
func roundTrip(t T, from, to *end, out, in [][]byte) {
	total := 0
	for _, b := range out {
		total += len(b)
	}
	n, err := from.stream.Send(out)
	if n != total || err != nil {
		require.Failf(t, "small message", "sent %d: %v", n, err)
	}
	for tries, got := 0, 0; got < total; tries++ {
		to.n.stack.Poll(to.n.events)
		n, err := to.stream.Recv(in)
		if err != nil && !errors.Is(err, stack.ErrAgain) || tries > 1e6 {
			require.NoError(t, err)
		}
		got += n
	}
	if _, err := to.stream.Recv(in); !errors.Is(err, stack.ErrAgain) {
		require.ErrorIs(t, err, stack.ErrAgain)
	}
}
