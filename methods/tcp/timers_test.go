package tcp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// TestEveryHeaderHasItsOwnTime: a peer that sends all the time may be in the
// middle of a header whenever it is read.
func TestEveryHeaderHasItsOwnTime(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	require.NoError(t, n.Handle(0, func(bmi.Message) {}))
	one := wire.Unexpected(1, 0).Append(nil)
	half := len(one) / 2
	f := n.connect()
	f.arrive(one[:half]...)
	n.settle()
	for range 5 {
		n.now += tcp.HeaderTimeout - time.Second
		f.arrive(append(one[half:], one[:half]...)...)
		n.settle()
		require.False(t, f.closed, "every header was whole in time")
	}
	n.now += tcp.HeaderTimeout
	n.settle()
	require.True(t, f.closed, "the last was not")
	require.EqualValues(t, 1, n.Stats().Methods[0].Errors.Protocol)
}
