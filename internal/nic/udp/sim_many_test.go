package udp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// manyConns is more than the number of packets that a device gives to a socket at
// once.
const manyConns = 100

// TestSimManyConnections lets many connections do the same at the same time: connect,
// greet, answer keep-alives, through a socket that is full now and then.
func TestSimManyConnections(t *testing.T) {
	sim.RunAtMost(t, 8, func(t *testing.T, seed uint64) {
		w := udptest.New(seed, sim.LinkOptions{DelayMin: 50 * time.Microsecond}, simdgram.Options{Full: 0.05, RecvBytesMax: 4 << 20},
			udp.Provider{Insecure: true, KeepAlive: 100 * time.Millisecond, GiveUp: time.Second})
		devs, names := [2]nic.Device{}, [2]string{}
		for i := range devs {
			var err error
			names[i] = w.NewName()
			devs[i], err = w.Open(nic.Config{Listen: names[i], Clock: w.Clock})
			require.NoError(t, err)
		}
		port := func(dev nic.Device) nic.Port {
			p, err := dev.OpenPort(nic.PortAttrs{Reliability: nic.ReliableDelivery, RecvDepth: 1, SendDepth: 1}, nil)
			require.NoError(t, err)
			return p
		}
		for range manyConns {
			require.NoError(t, port(devs[0]).Connect(names[1], nil, 0))
		}
		connected, lost := 0, 0
		var events [64]nic.Event
		for w.Clock() < 2*time.Second {
			for _, dev := range devs {
				for _, ev := range events[:dev.Poll(events[:])] {
					switch ev.Kind {
					case nic.EventConnectRequest:
						require.NoError(t, dev.Accept(ev.Conn.Request, port(dev)))
					case nic.EventConnected:
						connected++
					default:
						lost++
					}
				}
			}
			w.Step()
		}
		assert.Equal(t, 2*manyConns, connected)
		assert.Zero(t, lost)
	})
}
