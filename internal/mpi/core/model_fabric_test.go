package core_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/coretest"
	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	simstack "github.com/viaduct-hpc/viaduct/internal/tcp/stack/sim"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
	"github.com/viaduct-hpc/viaduct/methods/via"
)

// modelMemory is the in-memory method, in one goroutine or many.
func modelMemory(stepped bool) coretest.Fabric {
	return modelTightMemory(stepped, 0, bmitest.Options{})
}

// modelTightMemory is the in-memory method with limited operations of an endpoint, and other limits
// from options.
func modelTightMemory(stepped bool, ops int, o bmitest.Options) coretest.Fabric {
	o.Network = bmitest.NewNetwork()
	return coretest.Fabric{Stepped: stepped, Config: func(rank int) bmi.Config {
		return bmi.Config{
			Listen:  []string{fmt.Sprintf("mem://%d", rank)},
			Limits:  bmi.Limits{PendingOps: ops},
			Options: map[string]any{bmitest.Name: o},
		}
	}}
}

func modelSharedMemory(seed uint64) coretest.Fabric {
	return coretest.Fabric{Config: func(rank int) bmi.Config {
		return bmi.Config{Listen: []string{fmt.Sprintf("via+shm://model-%d-%d", seed, rank)}}
	}}
}

func modelTCP() coretest.Fabric {
	return coretest.Fabric{Config: func(int) bmi.Config {
		return bmi.Config{Listen: []string{"tcp://127.0.0.1:0"}}
	}}
}

// Names of the methods over simulated networks, which are in their options.
const (
	modelNIC = "via+sim"
	modelUDP = "via+" + udptest.Scheme
	modelNet = "tcp+sim"
)

// An opener opens a method from its options.
type opener func(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error)

// A modelDriver opens the method over the simulated network that its options name.
type modelDriver string

func (d modelDriver) Name() string { return string(d) }

func (d modelDriver) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	open, ok := cfg.Options.(opener)
	if !ok {
		return nil, fmt.Errorf("%w: %s needs a world", bmi.ErrInvalid, string(d))
	}
	return open(ctx, cfg)
}

func init() {
	bmi.Register(modelDriver(modelNIC))
	bmi.Register(modelDriver(modelUDP))
	bmi.Register(modelDriver(modelNet))
}

// modelSimulatedNIC is NICs of every kind in virtual time. They lose and duplicate packets, but do
// not break connections.
func modelSimulatedNIC(seed uint64) coretest.Fabric {
	rng := rand.New(rand.NewPCG(seed, 1))
	world := sim.New(sim.Options{Seed: seed, Link: sim.RandomLink(rng)})
	opts := simnic.RandomOptions(rng)
	opts.PeerWrites = sim.Draw{Rand: rng}.Chance(1)
	nics := simnic.New(world, opts)
	return coretest.Fabric{
		Step:  func() { step(world) },
		Crash: func(rank int) { nics.Crash(fmt.Sprint(rank)) },
		Config: func(rank int) bmi.Config {
			return bmi.Config{
				Listen: []string{fmt.Sprintf("%s://%d", modelNIC, rank)},
				Clock:  nics.Clock,
				Options: map[string]any{modelNIC: opener(func(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
					cfg.Options = via.Options{Seed: seed<<16 + uint64(rank), Idle: nics.Idle}
					return via.Driver(nics).Open(ctx, cfg)
				})},
			}
		},
	}
}

// modelSimulatedUDP is a machine for every rank in virtual time. Datagrams between them are lost,
// duplicated, damaged and delayed, and the network is sometimes partitioned.
func modelSimulatedUDP(seed uint64) coretest.Fabric {
	world := udptest.Random(seed)
	var names []string
	return coretest.Fabric{
		Step:  func() { world.Step() },
		Crash: func(rank int) { world.Crash(names[rank]) },
		Config: func(rank int) bmi.Config {
			names = append(names, world.NewName())
			return bmi.Config{
				Listen: []string{modelUDP + "://" + names[rank]},
				Clock:  world.Clock,
				Options: map[string]any{modelUDP: opener(func(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
					cfg.Options = via.Options{Seed: seed<<16 + uint64(rank), Idle: world.Idle}
					return via.Driver(world).Open(ctx, cfg)
				})},
			}
		},
	}
}

// step advances virtual time, but not far, because methods have timeouts of their own.
func step(world *sim.World) {
	const most = 2 * time.Millisecond
	if next, ok := world.Next(); ok && next <= world.Now()+most {
		world.Step()
	} else {
		world.RunFor(most)
	}
}

// modelSimulatedTCP is a machine for every rank, in virtual time.
func modelSimulatedTCP(seed uint64) coretest.Fabric {
	rng := rand.New(rand.NewPCG(seed, 1))
	opts := simstack.RandomOptions(rng)
	opts.SegmentBytesMax = max(opts.SegmentBytesMax, 500)
	opts.SendBytesMax, opts.RecvBytesMax = max(opts.SendBytesMax, 2000), max(opts.RecvBytesMax, 2000)
	world := sim.New(sim.Options{Seed: seed, Link: sim.RandomLink(rng)})
	net := simstack.New(world, opts)
	at := func(rank int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(rank + 1)}) }
	return coretest.Fabric{
		Step:  func() { step(world) },
		Crash: func(rank int) { net.Host(at(rank)).Crash(simstack.Killed) },
		Config: func(rank int) bmi.Config {
			ip := at(rank)
			host := net.Host(ip)
			return bmi.Config{
				Listen: []string{fmt.Sprintf("%s://%v:3334", modelNet, ip)},
				Clock:  net.Clock,
				Options: map[string]any{modelNet: opener(func(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
					cfg.Options = tcp.Options{Seed: seed<<16 + uint64(rank), Idle: net.Idle}
					return tcp.DriverOver(modelNet, func(tcp.Options) (stack.Stack, error) { return host.Open(), nil }).Open(ctx, cfg)
				})},
			}
		},
	}
}
