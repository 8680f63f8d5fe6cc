package tcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// armed arms the endpoint, and calls of others then create work.
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

// TestAPostedReceiveWakes: the message behind the unblocked one has already
// arrived, and no event will report it.
func TestAPostedReceiveWakes(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, from := n.connected()
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

// TestAReceiveThatIsTooShortWakes: its message is discarded, and the bytes behind
// it are read.
func TestAReceiveThatIsTooShortWakes(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, from := n.connected()
	f.arrive(message(7, 20_000)...)
	armed(t, n, func() { n.recv(from, 7, 1) })
}

// TestADropWakes: it makes room for the message of another peer.
func TestADropWakes(t *testing.T) {
	n := newFakeNode(t, tcp.Options{EarlyBytes: 2048}, bmi.Limits{})
	f, from := n.connected()
	f.arrive(message(7, 2000)...)
	n.settle()
	g, _ := n.connected()
	g.arrive(message(7, 2000)...)
	armed(t, n, func() { require.NoError(t, n.DropAddr(from)) })
}

// TestALongSendWakes: it is sent in parts, and the stream took the first.
func TestALongSendWakes(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, from := n.connected()
	armed(t, n, func() { n.send(from, 7, 3<<20) })
	n.settle()
	_, ok := n.completion()
	require.True(t, ok)
	require.Len(t, f.out, wire.HeaderLen+3<<20)
}

// TestAPollThatStopsHalfWayWakes: it consumed the event.
func TestAPollThatStopsHalfWayWakes(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, _ := n.connected()
	armed(t, n, func() {
		f.arrive(message(7, 16_000)...)
		f.arrive(message(8, 16_000)...)
		f.arrive(message(9, 16_000)...)
		n.poll()
	})
}
