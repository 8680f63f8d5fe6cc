package tcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// mark is the low-water mark if the endpoint slept now.
func (n *fakeNode) mark(f *fakeStream) int {
	for range 100 {
		s := n.method.(bmi.Sleeper)
		ok := s.Arm()
		s.Disarm()
		if ok {
			return f.mark
		}
		n.poll()
	}
	require.FailNow(n.t, "never armed")
	return 0
}

// TestTheRestOfALargeMessageWakesNobodyTooOften: a sleeper is woken for half of the message, for the rest, and
// never for more than can come.
func TestTheRestOfALargeMessageWakesNobodyTooOften(t *testing.T) {
	const size = 1 << 20
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, from := n.connected()
	require.LessOrEqual(t, n.mark(f), 1, "any message may come")
	n.recv(from, 7, size)
	stream := message(7, size)
	come := func(k int) {
		f.arrive(stream[:k]...)
		stream = stream[k:]
		n.settle()
	}
	come(wire.HeaderLen - 1)
	require.LessOrEqual(t, n.mark(f), 1, "the rest of a header")
	come(1)
	require.Equal(t, size/2, n.mark(f))
	come(1000)
	require.Equal(t, size/2, n.mark(f))
	come(size - 1000 - 100_000)
	require.Equal(t, 1, f.mark, "more than is to come is not waited for, even by who does not sleep")
	require.Equal(t, 100_000, n.mark(f))
	come(40_000)
	require.Equal(t, 1, n.mark(f), "little is worth a wake-up when little is left")
	come(60_000)
	require.Equal(t, 1, n.mark(f))
	c, ok := n.completion()
	require.True(t, ok)
	require.NoError(t, c.Err)

	n.recv(from, 8, 20_000)
	f.arrive(message(8, 20_000)[:5000]...)
	n.settle()
	require.Equal(t, 1, n.mark(f), "a small message")

	const huge = 16 << 20
	g, fromG := n.connected()
	n.recv(fromG, 9, huge)
	g.arrive(message(9, huge)[:wire.HeaderLen]...)
	n.settle()
	require.Equal(t, 1<<20, n.mark(g), "however large it is")
}
