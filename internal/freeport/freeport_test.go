package freeport

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryCallerHasItsOwn: no port is given to two tests at a time, and a server can listen on each.
func TestEveryCallerHasItsOwn(t *testing.T) {
	seen := make(map[string]bool)
	for range blockPorts {
		address := Address(t)
		require.False(t, seen[address], address)
		seen[address] = true
		l, err := net.Listen("tcp", address)
		require.NoError(t, err)
		require.NoError(t, l.Close())

		address = UDPAddress(t)
		require.False(t, seen[address], address)
		seen[address] = true
		c, err := net.ListenPacket("udp", address)
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
}

// TestPortsComeBack: a port can be used again when its test has ended, and one that something else uses is passed over.
func TestPortsComeBack(t *testing.T) {
	var port int
	t.Run("has a port", func(t *testing.T) {
		port = UDP(t)
		require.NotContains(t, ours.ports, port)
	})
	require.Equal(t, port, ours.ports[len(ours.ports)-1])

	other, err := net.ListenPacket("udp", address(port))
	require.NoError(t, err)
	t.Cleanup(func() { _ = other.Close() })
	for range len(ours.ports) + 1 {
		require.NotEqual(t, port, UDP(t))
	}
}

// TestBlocksBelongToOneProcess: another process cannot claim the block of this one.
func TestBlocksBelongToOneProcess(t *testing.T) {
	port := TCP(t)
	start := first + (port-first)/blockPorts*blockPorts
	_, err := net.ListenPacket("udp", address(start))
	require.Error(t, err)
}

// TestWhileProcessesStart: no process is started while a port is looked at. It would keep the listener until it runs its program, and
// the port would be in use.
func TestWhileProcessesStart(t *testing.T) {
	take(t, func(string) bool {
		require.False(t, syscall.ForkLock.TryLock(), "a process can be started")
		return true
	})
	require.True(t, syscall.ForkLock.TryLock())
	syscall.ForkLock.Unlock()
}
