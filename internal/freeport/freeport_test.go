package freeport

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryCallerHasItsOwn: no port is given to two tests at a time, and a server can listen on each.
func TestEveryCallerHasItsOwn(t *testing.T) {
	seen := make(map[string]bool)
	for range 100 {
		address := Address(t)
		require.False(t, seen[address], address)
		seen[address] = true
		l, err := net.Listen("tcp", address)
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}
