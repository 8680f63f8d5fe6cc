package simdgram

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/dgramtest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A layout is the placement of devices.
type layout struct {
	name     string
	together bool // on one host
	six      bool // with IPv6
}

var layouts = []layout{{name: "apart"}, {name: "together", together: true}, {name: "IPv6", six: true}}

func subject(n *Network, how layout) *dgramtest.Subject {
	hosts := byte(0)
	where := map[dgram.Device]netip.Addr{}
	s := &dgramtest.Subject{
		Open: func() dgram.Device {
			if hosts == 0 || !how.together {
				hosts++
			}
			addrs := []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, hosts}), netip.AddrFrom16([16]byte{0xfd, 15: hosts})}
			h := n.Host(addrs...)
			d := h.Open()
			where[d] = addrs[0]
			if how.six {
				where[d] = addrs[1]
			}
			return d
		},
		Addr:      func(d dgram.Device) netip.Addr { return where[d] },
		Allocates: true,
	}
	if n.opts.Mode == Stepped {
		s.Step = func() bool {
			_, more := n.Sim().Next()
			n.Idle(10 * time.Microsecond)
			return more
		}
	}
	return s
}

func conform(t *testing.T, how layout, seed uint64, link sim.LinkOptions, opts Options) {
	dgramtest.Run(t, func(*testing.T) *dgramtest.Subject {
		return subject(New(sim.New(sim.Options{Seed: seed, Link: link}), opts), how)
	})
}

func TestConformance(t *testing.T) {
	for _, how := range layouts {
		t.Run(how.name, func(t *testing.T) { conform(t, how, 1, sim.LinkOptions{}, Options{}) })
	}
}

// TestConformanceRandom has all faults except loss of datagrams.
func TestConformanceRandom(t *testing.T) {
	sim.RunAtMost(t, 10, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		opts := RandomOptions(rng)
		opts.MTUChangeEvery, opts.Down.QueueBytes, opts.RecvBytesMax = 0, 0, max(opts.RecvBytesMax, 128<<10)
		link := sim.RandomLink(rng)
		link.Loss, link.Duplicate, link.Corrupt, link.Capacity = 0, 0, 0, 0
		conform(t, layouts[seed%uint64(len(layouts))], seed, link, opts)
	})
}

func TestConformanceReal(t *testing.T) {
	link := sim.LinkOptions{DelayMin: 5 * time.Microsecond, DelayMean: 20 * time.Microsecond}
	conform(t, layouts[0], 1, link, Options{Mode: Real})
	conform(t, layouts[1], 1, link, Options{Mode: Real, Up: sim.Rate{BytesPerSecond: 100e6}, Full: 0.05, Merge: 0.5, HoldMax: 50 * time.Microsecond})
}

func TestStepsAreNeededInVirtualTime(t *testing.T) {
	n := New(sim.New(sim.Options{}), Options{})
	_, ok := n.Host(netip.MustParseAddr("10.0.0.1")).Open().(dgram.Sleeper)
	require.False(t, ok, "nobody sleeps in simulated time")
}
