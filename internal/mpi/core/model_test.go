package core_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/coretest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// modelLimits returns limits that even small messages reach.
func modelLimits(seed uint64) core.Limits {
	rng := rand.New(rand.NewPCG(seed, 5))
	return core.Limits{
		EagerBytesMax: []int{0, 1, 100, 1000, 4000}[rng.IntN(5)],
		WindowBytes:   []int{0, 16 << 10}[rng.IntN(2)],
		StagingBytes:  []int{0, 512, 1000}[rng.IntN(3)],
	}
}

// modelShape returns the shape of programs that reach those limits. In one of four programs enough
// messages are in transit to fill the windows.
func modelShape(seed uint64, limits core.Limits) coretest.Shape {
	edge := limits.EagerBytesMax
	if edge == 0 {
		edge = 4000
	}
	s := coretest.Shape{
		RanksMax: 5, ActionsMax: 120, SizeMax: 1500, LargestMax: 50_000,
		Edges: []int{edge, 496}, Strides: true,
	}
	if seed%4 == 0 {
		s.ActionsMax, s.SizeMax = 500, 4000
	}
	return s
}

// playModel runs a generated program over a fabric.
func playModel(t *testing.T, seed uint64, f coretest.Fabric) {
	t.Helper()
	limits := modelLimits(seed)
	p := coretest.Generate(seed, modelShape(seed, limits))
	w := modelWorld(t, len(p.Ranks), limits, f)
	err := p.Play(w.Run)
	if err != nil && testing.Verbose() {
		t.Log(p)
	}
	require.NoError(t, err)
}

// modelWorld opens engines that must have nothing left when the test ends.
func modelWorld(t *testing.T, ranks int, limits core.Limits, f coretest.Fabric) *coretest.World {
	t.Helper()
	f.Limits = func(int) core.Limits { return limits }
	w := coretest.NewWorld(t, ranks, f)
	t.Cleanup(func() {
		for rank, e := range w.Engines {
			s := e.Stats()
			s.Early, s.Announced = 0, 0 // counters of messages, which are no error
			assert.Zero(t, s, "rank %d keeps something, or somebody failed", rank)
		}
	})
	return w
}

// playThreads runs several programs at once, so that each engine has several goroutines that wait
// for different things.
func playThreads(t *testing.T, seed uint64, f coretest.Fabric) {
	t.Helper()
	const threads, ranks = 4, 3
	limits := modelLimits(seed)
	w := modelWorld(t, ranks, limits, f)
	shape := modelShape(seed, limits)
	shape.RanksMin, shape.RanksMax = ranks, ranks
	var all sync.WaitGroup
	errs := make([]error, threads)
	for i := range threads {
		all.Go(func() { errs[i] = coretest.Generate(seed<<8+uint64(i), shape).Play(w.Run) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
}

// Over the in-memory method, stepped.
func TestModelMemoryStepped(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) { playModel(t, seed, modelMemory(true)) })
}

// The same, but bmi sometimes has no room for another operation.
func TestModelMemoryTight(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 9))
		o := bmitest.Options{EagerSize: 1 + rng.IntN(200), Credits: 1 + rng.IntN(4)}
		playModel(t, seed, modelTightMemory(true, 24+rng.IntN(24), o))
	})
}

// The same with a goroutine for each rank.
func TestModelMemory(t *testing.T) {
	sim.RunAtMost(t, modelRealMax, func(t *testing.T, seed uint64) { playModel(t, seed, modelMemory(false)) })
}

// modelRealMax limits the seeds of slow tests.
const modelRealMax = 100

func TestModelSharedMemory(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	sim.RunAtMost(t, modelRealMax, func(t *testing.T, seed uint64) { playModel(t, seed, modelSharedMemory(seed)) })
}

func TestModelTCP(t *testing.T) {
	sim.RunAtMost(t, modelRealMax, func(t *testing.T, seed uint64) { playModel(t, seed, modelTCP()) })
}

func TestModelThreads(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	for name, f := range map[string]func(seed uint64) coretest.Fabric{
		"memory": func(uint64) coretest.Fabric { return modelMemory(false) },
		"shm":    modelSharedMemory,
		"tcp":    func(uint64) coretest.Fabric { return modelTCP() },
	} {
		t.Run(name, func(t *testing.T) {
			sim.RunAtMost(t, modelRealMax, func(t *testing.T, seed uint64) { playThreads(t, seed, f(seed)) })
		})
	}
}

// In virtual time, over NICs of every kind, with losses and delays.
func TestModelSimulatedNIC(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) { playModel(t, seed, modelSimulatedNIC(seed)) })
}

// playCrash runs a generated program in which one rank vanishes, and returns how many processes
// noticed that.
func playCrash(t *testing.T, seed uint64, f coretest.Fabric) (noticed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 6))
	limits := modelLimits(seed)
	shape := modelShape(seed, limits)
	shape.RanksMin = 2
	p := coretest.Generate(seed, shape)
	f.Limits = func(int) core.Limits { return limits }
	w := coretest.NewWorld(t, len(p.Ranks), f)
	err := p.PlayCrash(w, rng.IntN(len(p.Ranks)), 1+rng.IntN(200))
	if err != nil && testing.Verbose() {
		t.Log(p)
	}
	require.NoError(t, err)
	for _, e := range w.Engines {
		noticed += e.Stats().Failed
	}
	return noticed
}

// One rank vanishes, and the others end.
func TestModelCrash(t *testing.T) {
	for name, f := range map[string]func(seed uint64) coretest.Fabric{
		"nic": modelSimulatedNIC, "tcp": modelSimulatedTCP, "udp": modelSimulatedUDP,
	} {
		t.Run(name, func(t *testing.T) {
			seeds, noticed := 0, uint64(0)
			sim.RunAtMost(t, 3000, func(t *testing.T, seed uint64) {
				seeds++
				noticed += playCrash(t, seed, f(seed))
			})
			if seeds >= 8 {
				assert.Positive(t, noticed, "no program was still running when its rank vanished")
			}
		})
	}
}

// In virtual time, over TCP between machines that lose segments and have little room.
func TestModelSimulatedTCP(t *testing.T) {
	sim.RunAtMost(t, 300, func(t *testing.T, seed uint64) { playModel(t, seed, modelSimulatedTCP(seed)) })
}

// In virtual time, over datagrams.
func TestModelSimulatedUDP(t *testing.T) {
	sim.RunAtMost(t, modelRealMax, func(t *testing.T, seed uint64) { playModel(t, seed, modelSimulatedUDP(seed)) })
}
