// Package freeport finds ports for servers that a test starts later, or starts again. It is for tests, and for the conformance
// suite of methods.
package freeport

import (
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
)

// TB is what the package needs of a testing.TB.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	FailNow()
	Cleanup(func())
}

// Ports are below those that the kernel uses for outgoing connections (32768 on), so that no connection takes one while its
// server is down. A process claims whole blocks of ports, by a UDP socket with the first port of the block, and keeps them until it
// ends. So a port stays with its test although nothing listens on it, and costs no descriptor.
const (
	first      = 15000
	blocks     = 170
	blockPorts = 100
)

// ours are the ports of this process that no test has.
var ours struct {
	sync.Mutex
	ports   []int // the longest unused first
	claimed []net.PacketConn
	tried   int // blocks
}

// TCP is an unused TCP port of the loopback interface. No other test with this package gets it until this one ends.
func TCP(tb TB) int {
	tb.Helper()
	return take(tb, func(at string) bool {
		l, err := net.Listen("tcp4", at)
		return err == nil && l.Close() == nil
	})
}

// UDP is TCP for datagrams.
func UDP(tb TB) int {
	tb.Helper()
	return take(tb, func(at string) bool {
		c, err := net.ListenPacket("udp4", at)
		return err == nil && c.Close() == nil
	})
}

// Address is an unused TCP address of the loopback interface, in the form HOST:PORT.
func Address(tb TB) string {
	tb.Helper()
	return address(TCP(tb))
}

// UDPAddress is Address for datagrams.
func UDPAddress(tb TB) string {
	tb.Helper()
	return address(UDP(tb))
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// take takes a port of this process that passes a check, until the test ends.
func take(tb TB, usable func(at string) bool) int {
	tb.Helper()
	ours.Lock()
	defer ours.Unlock()
	for len(ours.ports) > 0 || claim() {
		port := ours.ports[0]
		ours.ports = ours.ports[1:]
		syscall.ForkLock.RLock() // a process that is started meanwhile would have the listener, too, until it runs its program
		ok := usable(address(port))
		syscall.ForkLock.RUnlock()
		if ok {
			tb.Cleanup(func() { give(port) })
			return port
		}
	}
	tb.Errorf("no free port from %d to %d", first, first+blocks*blockPorts-1)
	tb.FailNow()
	return 0
}

func give(port int) {
	ours.Lock()
	defer ours.Unlock()
	ours.ports = append(ours.ports, port)
}

// claim adds a block that no other process has.
func claim() bool {
	for ours.tried < blocks {
		start := first + (os.Getpid()+ours.tried)%blocks*blockPorts
		ours.tried++
		c, err := net.ListenPacket("udp4", address(start))
		if err != nil {
			continue
		}
		ours.claimed = append(ours.claimed, c)
		for port := start + 1; port < start+blockPorts; port++ {
			ours.ports = append(ours.ports, port)
		}
		return true
	}
	return false
}
