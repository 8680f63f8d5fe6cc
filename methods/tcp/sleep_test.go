package tcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
	"github.com/viaduct-hpc/viaduct/methods/tcp/wire"
)

// armed lets somebody sleep, and what others do meanwhile leave something to do.
func armed(t *testing.T, n *fakeNode, others func()) {
	t.Helper()
	for range 2 * 256 { // until no connection is hot
		n.poll()
	}
	s := n.method.(bmi.Sleeper)
	require.True(t, s.Arm(), "nothing is left to do")
	n.stack.woken = 0
	others()
	require.NotZero(t, n.stack.woken, "nobody wakes who sleeps")
	s.Disarm()
}

// TestAPostedReceiveWakes: the message behind the one that it lets go is there
// already, and no event will tell of it.
func TestAPostedReceiveWakes(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, from := n.meet()
	n.recv(from, 8, 1)
	f.arrive(append(message(7, 20_000), message(8, 1)...)...)
	armed(t, n, func() { n.recv(from, 7, 20_000) })
	n.settle()
	for range 2 {
		c, ok := n.completion()
		require.True(t, ok)
		require.NoError(t, c.Err)
	}
}

// TestAReceiveThatIsTooShortWakes: its message is thrown away, and what is behind
// that one read.
func TestAReceiveThatIsTooShortWakes(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, from := n.meet()
	f.arrive(message(7, 20_000)...)
	armed(t, n, func() { n.recv(from, 7, 1) })
}

// TestADropWakes: it makes room for the message of another peer.
func TestADropWakes(t *testing.T) {
	n := newFakeNode(t, tcp.Options{EarlyBytes: 2048}, bmi.Limits{})
	f, from := n.meet()
	f.arrive(message(7, 2000)...)
	n.settle()
	g, _ := n.meet()
	g.arrive(message(7, 2000)...)
	armed(t, n, func() { require.NoError(t, n.DropAddr(from)) })
}

// TestALongSendWakes: it goes out in parts, and the stream took the first.
func TestALongSendWakes(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, from := n.meet()
	armed(t, n, func() { n.send(from, 7, 3<<20) })
	n.settle()
	_, ok := n.completion()
	require.True(t, ok)
	require.Len(t, f.out, wire.HeaderLen+3<<20)
}

// TestAPollThatStopsHalfWayWakes: it took the event with it.
func TestAPollThatStopsHalfWayWakes(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, _ := n.meet()
	armed(t, n, func() {
		f.arrive(message(7, 16_000)...)
		f.arrive(message(8, 16_000)...)
		f.arrive(message(9, 16_000)...)
		n.poll()
	})
}
