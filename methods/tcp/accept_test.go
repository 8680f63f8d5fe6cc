package tcp_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// TestTooManyPeersAreTurnedAway: with a count and a line that says so.
func TestTooManyPeersAreTurnedAway(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	tcp.LimitPeers(n.method, 1)
	n.connected()
	f := n.connect()
	f.arrive(unexpected(1, 0)...)
	n.settle()
	require.True(t, f.closed)
	require.EqualValues(t, 1, n.Stats().Methods[0].Errors.TurnedAway)
	require.Equal(t, 1, n.Stats().Methods[0].Connected)
}

// TestListeningWithoutIPv6: a kernel without it refuses every such address.
func TestListeningWithoutIPv6(t *testing.T) {
	errNoIPv6 := errors.New("address family not supported")
	for _, address := range []string{fakeScheme + "://:3334", fakeScheme + "://localhost:3334"} {
		n := &fakeNode{t: t}
		n.stack.refuse = func(at netip.AddrPort) error {
			if at.Addr().Is6() {
				return errNoIPv6
			}
			return nil
		}
		e, err := bmi.Open(context.Background(), bmi.Config{
			Listen: []string{address}, Manual: true, Options: map[string]any{fakeScheme: n},
		})
		require.NoError(t, err, address)
		require.NoError(t, e.Close())
		require.True(t, n.stack.listener.at.Addr().Is4())
	}
	n := &fakeNode{t: t}
	n.stack.refuse = func(netip.AddrPort) error { return errNoIPv6 }
	_, err := bmi.Open(context.Background(), bmi.Config{
		Listen: []string{fakeScheme + "://:3334"}, Manual: true, Options: map[string]any{fakeScheme: n},
	})
	require.ErrorIs(t, err, errNoIPv6)
	require.ErrorContains(t, err, fakeScheme+"://:3334")
}
