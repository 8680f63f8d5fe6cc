package stock

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// Ports are below those that the kernel uses for outgoing connections (32768 on), so that no connection takes one while its
// server is down.
const (
	firstPort = 15000
	lastPort  = 31999
	portTries = 1000
	// portsPerProcess is the distance between the first ports that two processes try.
	portsPerProcess = 64
)

// portsTried counts the ports that this process has tried.
var portsTried atomic.Int64

// Port is an unused TCP port of the loopback interface. No other test with this package gets it until this one ends: a UDP socket
// with the same number reserves it.
func Port(tb testing.TB) int {
	tb.Helper()
	for range portTries {
		next := os.Getpid()*portsPerProcess + int(portsTried.Add(1))
		port := firstPort + next%(lastPort-firstPort+1)
		claim, err := net.ListenPacket("udp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			_ = claim.Close()
			continue
		}
		_ = l.Close()
		tb.Cleanup(func() { _ = claim.Close() })
		return port
	}
	tb.Fatalf("stock: no free port from %d to %d in %d tries", firstPort, lastPort, portTries)
	return 0
}

// listening looks for a socket in state LISTEN (0A) in the kernel's table of IPv4 sockets. The second column is ADDRESS:PORT in
// hex, the fourth the state. A probing connection would count as a client at the server.
func listening(port int) (bool, error) {
	table, err := os.ReadFile("/proc/net/tcp")
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("this needs Linux: %w", err)
	} else if err != nil {
		return false, err
	}
	want := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[1], want) && f[3] == "0A" {
			return true, nil
		}
	}
	return false, nil
}
