//go:build linux

package kernel

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/netns"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// probeBytes is the size of packets that only test the connection.
const probeBytes = 1

// hosts is a socket in each of two network namespaces that a cable joins.
func hosts(t *testing.T, o Options) (a, b *socket) {
	netns.Need(t)
	thread, plugged, done := make(chan int, 1), make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(done)
		defer close(thread)
		within(t, 65536, func() {
			thread <- unix.Gettid()
			if <-plugged && ip(t, "addr add 10.0.0.2/24 dev there") && ip(t, "link set there up") &&
				ip(t, "neigh add 10.0.0.1 lladdr 02:00:00:00:00:01 dev there") {
				b = bound(t, open(t, o), netip.MustParseAddrPort("10.0.0.2:0"))
			}
		})
	}()
	within(t, 65536, func() {
		ok := ip(t, "link add here address 02:00:00:00:00:01 type veth peer name there address 02:00:00:00:00:02") &&
			ip(t, fmt.Sprintf("link set there netns %d", <-thread)) &&
			ip(t, "addr add 10.0.0.1/24 dev here") && ip(t, "link set here up") &&
			ip(t, "neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev here")
		plugged <- ok
		if ok {
			a = bound(t, open(t, o), netip.MustParseAddrPort("10.0.0.1:0"))
			<-done
		}
	})
	<-done
	require.True(t, a != nil && b != nil)
	batch := room(1)
	eventually(t, "the cable works", func() bool {
		send(t, a, packet(b.Addr(), probeBytes, 0))
		return b.Recv(batch) > 0
	})
	return a, b
}

// Full packets cross a cable in groups and alone, while their receiver sleeps; few enough
// at once that no queue on the way overflows. A lost wake-up fails the test at its
// deadline.
func TestTwoHosts(t *testing.T) {
	const rounds, count, size = 30, 100, 1500 - headers4
	for name, o := range map[string]Options{"groups": {}, "alone": {NoGSO: true, NoGRO: true}} {
		t.Run(name, func(t *testing.T) {
			a, b := hosts(t, o)
			sum, received := 0, make(chan int)
			go func() {
				defer close(received)
				for batch := room(8); sum < rounds*count; {
					all := split(t, batch[:b.Recv(batch)])
					for _, g := range all {
						if g.size == probeBytes {
							continue
						}
						// The order is not promised: the sender may change its processor.
						assert.Equal(t, got{a.Addr(), g.number, size}, g)
						if sum++; sum%count == 0 {
							received <- sum
						}
					}
					if len(all) == 0 {
						if b.d.Arm() {
							b.d.Sleep(-1)
						}
						b.d.Disarm()
					}
				}
			}()
			for range rounds {
				for todo := run(b.Addr(), count, size); len(todo) > 0; {
					n, err := a.Send(todo)
					todo = todo[n:]
					if err != nil && a.d.Arm() {
						a.d.Sleep(-1)
					}
					a.d.Disarm()
				}
				<-received
			}
			<-received
			st := b.Stats()
			assert.Equal(t, o.NoGRO, st.ReceivedGrouped == 0)
			one := []dgram.Packet{packet(b.Addr(), size+1, 1)}
			_, err := a.Send(one)
			require.NoError(t, err)
			assert.True(t, one[0].TooBig)
		})
	}
}
