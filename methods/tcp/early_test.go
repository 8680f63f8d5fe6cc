package tcp_test

import (
	"io"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// TestStrangersLeaveNothing: messages of a peer that the application never learnt
// of cannot be received, so they are discarded when the peer leaves.
func TestStrangersLeaveNothing(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	for _, size := range []int{0, 1000} {
		f := n.connect()
		f.arrive(message(7, size)...)
		n.settle()
		require.Equal(t, 1, n.Stats().Methods[0].EarlyMessages)
		f.finish(io.EOF)
		n.settle()
		require.True(t, f.closed)
		s := n.Stats().Methods[0]
		require.Zero(t, s.EarlyMessages)
		require.Zero(t, s.Peers)
	}
}

// TestAcquaintancesLeaveMessages: messages that a known peer sent before it left
// can be received for a while.
func TestAcquaintancesLeaveMessages(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	for _, wait := range []bool{false, true} {
		f, from := n.connected()
		f.arrive(message(7, 1000)...)
		n.settle()
		f.finish(io.EOF)
		n.settle()
		require.True(t, f.closed)
		if wait {
			n.now += tcp.HangupTimeout
			n.settle()
			p, err := n.ctx.PostRecv(from, 7, make([]byte, 1000), nil)
			require.NoError(t, err)
			require.False(t, p.Done)
			c, ok := n.completion()
			require.True(t, ok)
			require.ErrorIs(t, c.Err, bmi.ErrPeerFailed)
		} else {
			require.True(t, n.recv(from, 7, 1000).Done)
		}
		require.Zero(t, n.Stats().Methods[0].Peers)
	}
}

// TestWhoWaitedForItselfWaitsForTheOthers: a peer was over its own limit. When it
// no longer is, other peers have used up the room of all. It continues when they
// free it.
func TestWhoWaitedForItselfWaitsForTheOthers(t *testing.T) {
	n := newFakeNode(t, tcp.Options{EarlyBytes: 4096, EarlyBytesPerPeer: 2048}, bmi.Limits{})
	come := func(f *fakeStream, tag uint32, size int) {
		f.arrive(message(tag, size)...)
		n.settle()
	}
	f, from := n.connected()
	g, fromG := n.connected()
	h, fromH := n.connected()
	come(f, 1, 2000)
	come(f, 2, 2000) // over its own limit
	come(g, 1, 2000) // no room for all is left
	come(h, 1, 2000) // the first to wait for that
	require.True(t, n.recv(from, 1, 2000).Done)
	come(f, 3, 0) // behind what waits
	require.True(t, n.recv(fromG, 1, 2000).Done)
	n.settle()
	require.True(t, n.recv(fromH, 1, 2000).Done)
	n.settle()
	require.True(t, n.recv(from, 3, 0).Done, "it still waits")
}

// TestWaitingConnectionsAreForgotten: a connection that ends while it waits for
// room leaves nothing behind, although the one in front of it still waits.
func TestWaitingConnectionsAreForgotten(t *testing.T) {
	for name, say := range map[string][]byte{"early": message(1, 100), "unexpected": unexpected(1, 100)} {
		t.Run(name, func(t *testing.T) {
			n := newFakeNode(t, tcp.Options{EarlyBytes: 128}, bmi.Limits{UnexpectedMessages: 1})
			for range 2 {
				n.connect().arrive(say...)
				n.settle()
			}
			f := n.connect()
			f.arrive(say...)
			n.settle()
			f.finish(io.EOF)
			n.settle()
			n.now += tcp.HangupTimeout
			n.settle()
			require.True(t, f.closed)
			ended := weak.Make(f)
			f = nil
			runtime.GC()
			require.Nil(t, ended.Value())
			runtime.KeepAlive(n)
		})
	}
}
