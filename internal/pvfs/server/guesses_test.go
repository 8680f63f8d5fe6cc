package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
)

// TestGuessesOfOneHost: whoever changes its port, its address within its network, or its process is the same host.
func TestGuessesOfOneHost(t *testing.T) {
	for _, same := range [][2]string{
		{"tcp://10.0.0.1:5", "tcp://10.0.0.1:6"},
		{"tcp://10.0.0.1:5", "via+udp://10.0.0.1:6"},
		{"tcp://[2001:db8:1:2::3]:5", "tcp://[2001:db8:1:2:ffff::4]:5"},
		{"via+shm://~uid1000.~17.1", "via+shm://~uid1000.~18.1"},
	} {
		g := guesses{clock: func() time.Time { return time.Unix(2000000000, 0) }}
		for i := range wrongMax {
			require.True(t, g.may(rpc.HostOf(same[i%2])), same)
		}
		require.False(t, g.may(rpc.HostOf(same[0])), same)
		require.False(t, g.may(rpc.HostOf(same[1])), same)
	}
	for _, other := range []string{"tcp://10.0.0.2:5", "tcp://[2001:db8:1:3::3]:5", "via+shm://~uid1001.~17.1"} {
		require.NotEqual(t, rpc.HostOf("tcp://10.0.0.1:5"), rpc.HostOf(other))
		require.NotEqual(t, rpc.HostOf("tcp://[2001:db8:1:2::3]:5"), rpc.HostOf(other))
		require.NotEqual(t, rpc.HostOf("via+shm://~uid1000.~17.1"), rpc.HostOf(other))
	}
}

// TestGuessesAreBounded: hosts are remembered up to a limit, and dropped when they are forgiven.
func TestGuessesAreBounded(t *testing.T) {
	now := time.Unix(2000000000, 0)
	g := guesses{clock: func() time.Time { return now }}
	for range wrongMax {
		require.True(t, g.may("host"))
	}
	require.False(t, g.may("host"))
	now = now.Add(forgivenAfter)
	require.True(t, g.may("host"))
	require.False(t, g.may("host"))
	for i := range guessHostsMax - 1 {
		require.True(t, g.may(fmt.Sprint(i)))
	}
	require.False(t, g.may("another"), "no memory for it")
	require.Len(t, g.hosts, guessHostsMax)
	now = now.Add(2 * forgivenAfter)
	require.True(t, g.may("another"))
	now = now.Add(-time.Hour) // a clock that was set back
	g.may("host")
	now = now.Add(time.Minute)
	require.True(t, g.may("host"))
}
