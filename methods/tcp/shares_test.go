package tcp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// swarm makes count connections from an address.
func swarm(n *fakeNode, ip string, count int) (all []*fakeStream) {
	for range count {
		all = append(all, n.connectFrom(ip))
	}
	return all
}

func closedOf(all []*fakeStream) (n int) {
	for _, f := range all {
		if f.closed {
			n++
		}
	}
	return n
}

// TestConnectionsAreShared: one host cannot have all connections while others want some.
func TestConnectionsAreShared(t *testing.T) {
	n := newFakeNode(t, tcp.Options{Connections: 12}, bmi.Limits{})
	greedy := swarm(n, "10.0.0.1", 20)
	require.Equal(t, 8, closedOf(greedy[12:]), "while it is alone it may have all, and no more")
	others := swarm(n, "10.0.0.2", 20)
	require.Equal(t, 6, closedOf(greedy[:12]), "two share them")
	require.Equal(t, 14, closedOf(others))
	third := swarm(n, "2001:db8:1:2::1", 3)
	third = append(third, swarm(n, "2001:db8:1:2:ffff::1", 3)...) // the same network of one customer
	require.Equal(t, 2, closedOf(third))
	require.Equal(t, 8, closedOf(greedy[:12]))
	require.Equal(t, 16, closedOf(others))
	for _, one := range []string{"10.0.1.1", "10.0.1.2", "10.0.1.3", "10.0.1.4"} {
		require.False(t, n.connectFrom(one).closed)
	}
	st := n.Stats().Methods[0]
	require.Equal(t, 12, st.Connected)
	require.EqualValues(t, 8+14+2, st.Errors.TurnedAway)
	require.EqualValues(t, 6+4+4, st.Errors.Displaced)
}

// TestWhoIsIdleGoesFirst: if there is no room, the host with the most connections loses the one that has been silent longest
// and has no operations.
func TestWhoIsIdleGoesFirst(t *testing.T) {
	n := newFakeNode(t, tcp.Options{Connections: 4}, bmi.Limits{})
	waits, to := n.connected()
	n.recv(to, 1, 10)
	busy, idle, newest := n.connect(), n.connect(), n.connect()
	idle.arrive(unexpected(1, 0)...)
	n.settle()
	newest.arrive(unexpected(1, 0)...)
	n.settle()
	busy.arrive(unexpected(1, 0)...)
	n.settle()
	require.False(t, n.connectFrom("10.0.0.2").closed)
	require.Equal(t, []bool{false, false, true, false}, []bool{waits.closed, busy.closed, idle.closed, newest.closed})
	require.False(t, n.connectFrom("10.0.0.2").closed)
	require.Equal(t, []bool{false, false, true, true}, []bool{waits.closed, busy.closed, idle.closed, newest.closed})
	require.False(t, n.connectFrom("10.0.0.3").closed)
	require.False(t, waits.closed)
	require.False(t, n.connectFrom("10.0.0.4").closed, "somebody has two")
}

// TestHalfMessagesEnd: parts of a message that stays incomplete are not kept for ever.
func TestHalfMessagesEnd(t *testing.T) {
	for name, bytes := range map[string][]byte{"unexpected": unexpected(1, 1000), "expected": message(1, 1000)} {
		t.Run(name, func(t *testing.T) {
			n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
			require.NoError(t, n.Handle(0, func(bmi.Message) {}))
			f := n.connect()
			f.arrive(bytes[:100]...)
			for i := range bytes[100:] {
				if n.settle(); f.closed {
					break
				}
				n.now += time.Second
				f.arrive(bytes[100+i])
			}
			require.True(t, f.closed, "also if a byte comes now and then")
			assert.Equal(t, tcp.MessageTimeout, n.now)
			require.EqualValues(t, 1, n.Stats().Methods[0].Errors.Protocol)
		})
	}
}

// TestSlowReadersAreNotTheSenders: bytes that arrived while the endpoint did not poll count as in time.
func TestSlowReadersAreNotTheSenders(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	got := 0
	require.NoError(t, n.Handle(0, func(bmi.Message) { got++ }))
	for half := 10; half < 200; half += 90 { // cut in the header, and after it
		f := n.connect()
		whole := unexpected(1, 1000)
		f.arrive(whole[:half]...)
		n.settle()
		n.now += time.Hour
		f.in = append(f.in, whole[half:]...) // and the event has not been seen yet
		n.settle()
		require.False(t, f.closed)
	}
	require.Equal(t, 3, got)
}

// TestWholeMessagesHaveTime: each message has its own time limit.
func TestWholeMessagesHaveTime(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	require.NoError(t, n.Handle(0, func(bmi.Message) {}))
	f := n.connect()
	one := unexpected(1, 1000)
	f.arrive(one[:500]...)
	n.settle()
	for range 5 {
		n.now += tcp.MessageTimeout - time.Second
		f.arrive(append(one[500:], one[:500]...)...)
		n.settle()
		require.False(t, f.closed)
	}
	f.arrive(one[500:]...)
	n.settle()
	n.now += time.Hour
	n.settle()
	require.False(t, f.closed, "an idle connection has no end")
}

// TestLateAndResumed: a connection was just unblocked when its time was over. It is read in order: first its kept bytes.
func TestLateAndResumed(t *testing.T) {
	n := newFakeNode(t, tcp.Options{EarlyBytesPerPeer: 1024}, bmi.Limits{})
	require.NoError(t, n.Handle(0, func(bmi.Message) {}))
	f := n.connect()
	f.arrive(unexpected(1, 0)...)
	n.settle()
	from := n.Stats().Peers[0].Addr
	peer, err := n.Lookup(from)
	require.NoError(t, err)
	second := wire.Expected(2, 900).Append(nil)
	for i := range 900 {
		second = append(second, byte(i/10))
	}
	f.arrive(append(message(1, 800), second[:300]...)...) // the second waits for room, and its beginning was read
	n.settle()
	var crowd []*fakeStream
	for range 200 {
		crowd = append(crowd, n.connect())
	}
	for _, one := range crowd {
		one.arrive(unexpected(1, 0)...)
	}
	n.poll() // some of them are still to be read
	n.recv(peer, 1, 800)
	f.in = append(f.in, second[300:]...)
	n.now += tcp.MessageTimeout
	n.settle()
	require.False(t, f.closed)
	got := make([]byte, 900)
	_, err = n.ctx.PostRecv(peer, 2, got, nil)
	require.NoError(t, err)
	n.settle()
	require.Equal(t, second[len(second)-900:], got)
}
