package freeport

import (
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
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

// TestWhileProcessesStart: a process that is being started does not hold what looked at the port.
func TestWhileProcessesStart(t *testing.T) {
	if os.Getenv("FREEPORT_TEST_CHILD") != "" {
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	stop := make(chan struct{})
	var starting sync.WaitGroup
	defer starting.Wait()
	defer close(stop)
	for range 8 {
		starting.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				cmd := exec.Command(self, "-test.run=WhileProcessesStart")
				cmd.Env = append(os.Environ(), "FREEPORT_TEST_CHILD=1")
				assert.NoError(t, cmd.Run())
			}
		})
	}
	for range 1500 {
		t.Run("a port", func(t *testing.T) {
			l, err := net.Listen("tcp4", Address(t))
			require.NoError(t, err)
			require.NoError(t, l.Close())
		})
	}
}
