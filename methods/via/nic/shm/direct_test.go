package shm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestDirect: messages sent with Claim and with PostSend arrive in one order.
func TestDirect(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	for round := range 3 * ringSlots {
		n := round % (InlineBytesMax + 1)
		d := recvLoan()
		require.NoError(t, pb.PostRecv(d))
		if round%3 == 0 {
			mustSend(t, pa, pattern(n, byte(round)))
		} else {
			room := pa.Claim(n)
			require.Len(t, room, n)
			require.NotNil(t, room)
			copy(room, pattern(n, byte(round)))
			pa.Publish()
		}
		require.Same(t, d, f.next(pb.dev, nic.EventRecv).Desc)
		require.Equal(t, nic.StatusSuccess, d.Status)
		require.Equal(t, pattern(n, byte(round)), d.Data)
		require.Zero(t, d.Flags&nic.FlagImmediate)
	}
}

// TestNoClaim: a message that needs more than a slot must be posted, and so must one that
// cannot be sent, for which PostSend returns the reason.
func TestNoClaim(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	require.Nil(t, pa.Claim(0), "no receive is posted")
	require.NoError(t, pb.PostRecv(recvLoan()))
	require.Nil(t, pa.Claim(InlineBytesMax+1))
	require.Nil(t, openPort(t, pa.dev, reliable()).Claim(0), "nobody is connected")
	pa.Disconnect()
	f.next(pb.dev, nic.EventDisconnected)
	require.Nil(t, pa.Claim(0), "the connection has ended")
	require.Nil(t, pb.Claim(0))
}
