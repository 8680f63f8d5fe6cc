// Package freeport finds TCP ports for servers that a test starts later, or starts again. The package is for tests only; no
// shipped code imports it.
package freeport

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// Ports are below those that the kernel uses for outgoing connections (32768 on), so that no connection takes one while its
// server is down.
const (
	first = 15000
	last  = 31999
	tries = 1000
	// perProcess is the distance between the first ports that two processes try.
	perProcess = 64
)

// tried counts the ports that this process has tried.
var tried atomic.Int64

// TCP is an unused TCP port of the loopback interface. No other test with this package gets it until this one ends: a UDP socket
// with the same number reserves it.
func TCP(tb testing.TB) int {
	tb.Helper()
	for range tries {
		next := os.Getpid()*perProcess + int(tried.Add(1))
		port := first + next%(last-first+1)
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
	tb.Fatalf("no free port from %d to %d in %d tries", first, last, tries)
	return 0
}

// Address is an unused TCP address of the loopback interface, in the form HOST:PORT.
func Address(tb testing.TB) string {
	tb.Helper()
	return fmt.Sprintf("127.0.0.1:%d", TCP(tb))
}
