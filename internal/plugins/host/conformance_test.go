package host_test

import (
	"context"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/arena"
	"github.com/viaduct-hpc/viaduct/internal/plugins/guest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/host"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

// near opens the in-memory method as if it were in a plugin: it runs in a guest.Engine, and step
// calls Turn.
type near struct {
	driver  bmi.Driver
	engines []*guest.Engine
	t       testing.TB
	ring    int // bytes of each
}

// replace replaces the driver of the in-memory method by a near.
func replace(t *testing.T) *near {
	all := bmi.Drivers()
	i := slices.IndexFunc(all, func(d bmi.Driver) bool { return d.Name() == bmitest.Name })
	require.GreaterOrEqual(t, i, 0)
	n := &near{driver: all[i], t: t, ring: 1 << 20}
	bmi.Remove(n.driver)
	require.NoError(t, bmi.Add(n))
	t.Cleanup(func() {
		bmi.Remove(n)
		require.NoError(t, bmi.Add(n.driver))
	})
	return n
}

func (n *near) Name() string { return bmitest.Name }

func (n *near) memory(bytes int) []byte {
	mem, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(n.t, err)
	n.t.Cleanup(func() { require.NoError(n.t, unix.Munmap(mem)) })
	require.Zero(n.t, uintptr(unsafe.Pointer(&mem[0]))%ring.Line)
	return mem
}

func (n *near) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	there, back, shared := n.memory(ring.Bytes(n.ring)), n.memory(ring.Bytes(n.ring)), n.memory(256<<20)
	var gc guest.Config
	var line host.Line
	var err error
	must := func(err error) { require.NoError(n.t, err) }
	line.Out, err = ring.NewWriter(there)
	must(err)
	gc.In, err = ring.NewReader(there)
	must(err)
	gc.Out, err = ring.NewWriter(back)
	must(err)
	line.In, err = ring.NewReader(back)
	must(err)
	pieces, err := arena.New(shared)
	must(err)
	gc.Arena, gc.Bell, gc.Wake, line.Bell = shared, func() {}, func() {}, func() {}

	e := guest.New(gc)
	inner := cfg
	inner.Host = e.Host()
	method, err := n.driver.Open(ctx, inner)
	if err != nil {
		return nil, err
	}
	e.Start(method)
	n.engines = append(n.engines, e)
	m := host.New(host.Config{
		Host: cfg.Host, Info: method.Info(), Name: "near", Arena: pieces,
		Resolve: func(address string) (string, error) {
			a, err := method.Resolve(address)
			return a.String(), err
		},
		Check: func(address string) error {
			a, err := method.Resolve(address)
			must(err)
			return method.(bmi.Checker).Check(bmi.HostPeer(a))
		},
		InRange: func(address, pattern string) (bool, error) {
			a, err := method.Resolve(address)
			must(err)
			return method.(bmi.Ranger).InRange(bmi.HostPeer(a), pattern)
		},
		Close: func(ctx context.Context) error {
			n.turn(e)
			n.engines = slices.DeleteFunc(n.engines, func(x *guest.Engine) bool { return x == e })
			return e.Close(ctx)
		},
		Broken: func(err error) { require.NoError(n.t, err) },
	})
	m.Attach(&line)
	return &joint{m, n, e}, nil
}

// joint is a Method whose Poll also runs the plugin.
type joint struct {
	*host.Method
	n *near
	e *guest.Engine
}

func (j *joint) Poll() bool {
	if slices.Contains(j.n.engines, j.e) {
		j.n.turn(j.e)
	}
	return j.Method.Poll()
}

func (n *near) turn(e *guest.Engine) {
	_, err := e.Turn()
	require.NoError(n.t, err)
}

func (n *near) step() {
	for _, e := range slices.Clone(n.engines) {
		n.turn(e)
	}
}

// TestConformance: a method behind rings works like any other.
func TestConformance(t *testing.T) {
	for name, bytes := range map[string]int{"room for all": 1 << 20, "small rings": 512 << 10} {
		t.Run(name, func(t *testing.T) {
			n := replace(t)
			n.ring = bytes
			tests := methodtest.All
			if name == "room for all" {
				tests = tests.Again().Brief(2, 4)
			}
			seeds := sim.SeedsAtMost(t, 50) // each has hundreds of steps
			methodtest.RunTests(t, tests, func(methodtest.T) *methodtest.Subject {
				return &methodtest.Subject{
					Address: methodtest.Named(bmitest.Name),
					Step:    n.step,
					Seeds:   seeds,
				}
			})
		})
	}
}
