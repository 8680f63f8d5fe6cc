package tcp_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// TestAPeerFailsOnce: a connection that fails first for sending, and then for
// receiving, counts as one failure.
func TestAPeerFailsOnce(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, to := n.connected()
	n.recv(to, 1, 1)
	f.sendErr, f.inErr = io.ErrClosedPipe, io.ErrUnexpectedEOF
	n.send(to, 1, 10)
	n.settle()
	for range 2 {
		c, ok := n.completion()
		require.True(t, ok)
		require.ErrorIs(t, c.Err, bmi.ErrPeerFailed)
	}
	require.True(t, f.closed)
	require.EqualValues(t, 1, n.Stats().Methods[0].Errors.PeerFailed)
}

// TestWhatBreaksForSendingEnds: although the receiving direction reports nothing.
func TestWhatBreaksForSendingEnds(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, to := n.connected()
	n.recv(to, 1, 1)
	f.sendErr = io.ErrClosedPipe
	n.send(to, 1, 10)
	n.completion()
	n.settle()
	require.False(t, f.closed, "something may be there to be received")
	n.now += tcp.HangupTimeout
	n.settle()
	require.True(t, f.closed)
	c, ok := n.completion()
	require.True(t, ok)
	assert.ErrorIs(t, c.Err, io.ErrClosedPipe, "that is why")
	require.EqualValues(t, 1, n.Stats().Methods[0].Errors.PeerFailed)
}

// TestWhatBreaksForSendingEndsWithinAMessage: a message that is not complete yet has more time than a
// connection that failed. The shorter time applies, also if what follows cannot be read.
func TestWhatBreaksForSendingEndsWithinAMessage(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, to := n.connected()
	n.recv(to, 1, 1)
	early := message(9, 1000)
	f.arrive(early[:500]...)
	n.settle()
	f.sendErr = io.ErrClosedPipe
	n.send(to, 1, 10)
	n.completion()
	f.arrive(early[500:]...)
	f.arrive(message(8, 100_000)...) // too large to be kept without a receive
	f.finish(io.EOF)
	n.settle()
	require.False(t, f.closed, "what is there can be received")
	n.now += tcp.HangupTimeout
	n.settle()
	require.True(t, f.closed)
}
