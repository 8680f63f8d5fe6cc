package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGuessesAreBounded: hosts are remembered up to a limit, and dropped when they are forgiven. Different ports are the same
// host.
func TestGuessesAreBounded(t *testing.T) {
	now := time.Unix(2000000000, 0)
	g := guesses{clock: func() time.Time { return now }}
	require.Equal(t, hostOf("tcp://10.0.0.1:5"), hostOf("tcp://10.0.0.1:6"))
	require.NotEqual(t, hostOf("tcp://10.0.0.1:5"), hostOf("tcp://10.0.0.2:5"))
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
