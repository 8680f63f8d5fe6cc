package vipl

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestPeerCallGivenUp: the side that waits for a call accepts one that the other side
// has given up already, and waits for the next one.
func TestPeerCallGivenUp(t *testing.T) {
	lost := errors.New("does not wait any more")
	call := &nic.ConnEvent{Remote: "a", Private: request{kind: kindPeer, to: "x", from: "x"}.append(nil)}
	waiting := func(t *testing.T) (*stub, *NIC, *VI) {
		s, n, vi := stubbed(t, true)
		require.NoError(t, vi.ConnectPeerRequest(Address{Host: "a", Discriminator: "x"}, ConnectOptions{Local: "x"}))
		s.events = append(s.events, nic.Event{Kind: nic.EventConnectRequest, Conn: call})
		return s, n, vi
	}
	givenUp := &nic.ConnEvent{Err: lost}

	for _, early := range []bool{false, true} {
		s, n, vi := waiting(t)
		again := nic.Event{Kind: nic.EventConnectRequest, Conn: call}
		if early {
			// The next call is there before the end of the first is.
			s.events = append(s.events, again)
		}
		s.tell(s.ports[0], nic.EventDisconnected, givenUp)
		if !early {
			s.events = append(s.events, again)
		}
		n.Poll()
		require.Equal(t, PendingConnect, vi.State())
		require.Len(t, s.ports, 2, "a port serves one connection")
		assert.True(t, s.ports[0].closed)
		s.tell(s.ports[1], nic.EventConnected, nil)
		n.Poll()
		assert.Equal(t, Connected, vi.State())
		assert.Empty(t, s.rejects)
	}

	t.Run("with receives", func(t *testing.T) {
		s, n, vi := waiting(t)
		d := &Descriptor{}
		require.NoError(t, vi.PostRecv(d))
		d.Status = nic.StatusFlushed
		s.events = append(s.events, nic.Event{Kind: nic.EventRecv, Cookie: vi, Desc: d})
		s.tell(s.ports[0], nic.EventDisconnected, givenUp)
		n.Poll()
		assert.Equal(t, Idle, vi.State(), "the receives came back, and with them the attempt ends")
		require.ErrorIs(t, vi.ConnectPeerDone(), lost)
	})
	t.Run("without a port", func(t *testing.T) {
		s, n, vi := waiting(t)
		n.Poll()
		s.err = errors.New("no memory")
		s.tell(s.ports[0], nic.EventDisconnected, givenUp)
		n.Poll()
		assert.Equal(t, Idle, vi.State())
		require.ErrorIs(t, vi.ConnectPeerDone(), lost)
	})
}
