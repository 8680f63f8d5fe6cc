//go:build linux

package service_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/arena"
	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
	"github.com/viaduct-hpc/viaduct/internal/plugins/host"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/segment"
	"github.com/viaduct-hpc/viaduct/internal/plugins/service"
	"github.com/viaduct-hpc/viaduct/internal/plugins/stream"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// A plugin is a Server in this process, with the in-memory method.
type plugin struct {
	t      testing.TB
	server *service.Server
	opt    bmitest.Options
	driver bmi.Driver
	rings  int                // bytes
	client proto.MethodClient // nil: sessions have rings; otherwise for sessions with streams

	mu     sync.Mutex
	passed map[uint64][]int // descriptors, by session
	latest uint64
	given  []any // options that the driver was opened with
}

func newPlugin(t testing.TB) *plugin {
	all := bmi.Drivers()
	i := slices.IndexFunc(all, func(d bmi.Driver) bool { return d.Name() == bmitest.Name })
	require.GreaterOrEqual(t, i, 0)
	p := &plugin{t: t, driver: all[i], opt: bmitest.Options{Network: bmitest.NewNetwork()}, rings: 1 << 20, passed: make(map[uint64][]int)}
	p.server = service.New(service.Config{Drivers: []bmi.Driver{inside{p}}, Version: "v1", Descriptors: p.descriptors})
	t.Cleanup(p.server.Shutdown)
	return p
}

// alone makes it a plugin without shared memory.
func (p *plugin) alone() {
	p.server = service.New(service.Config{Drivers: []bmi.Driver{inside{p}}})
	p.t.Cleanup(p.server.Shutdown)
}

// inside is the driver that the plugin offers.
type inside struct{ p *plugin }

func (inside) Name() string { return bmitest.Name }

func (i inside) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	i.p.mu.Lock()
	i.p.given = append(i.p.given, cfg.Options)
	i.p.mu.Unlock()
	cfg.Options = i.p.opt
	return i.p.driver.Open(ctx, cfg)
}

func (p *plugin) pass(session uint64, fds ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed[session] = fds
}

func (p *plugin) descriptors(_ context.Context, session uint64) ([]int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fds, ok := p.passed[session]
	if !ok {
		return nil, errors.New("nothing was passed")
	}
	delete(p.passed, session)
	return fds, nil
}

func (p *plugin) session() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest++
	return p.latest
}

// outside is the driver that a program has for it.
type outside struct{ p *plugin }

func (outside) Name() string { return bmitest.Name }

func (o outside) Open(_ context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	f, err := o.p.open(cfg.Host, cfg.Listen, nil)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// A far is the program's side of a session.
type far struct {
	*host.Method
	p     *plugin
	id    uint64
	rings *segment.Rings
	arena *segment.Arena
	out   *ring.Writer
	there *bell.Bell // the plugin's
	here  *bell.Bell
	pump  *stream.Pump // nil: the session has the rings
}

// ends makes the shared memory of a session, and the descriptors for the plugin.
func (p *plugin) ends() (f *far, fds []int) {
	must := func(err error) { require.NoError(p.t, err) }
	f = &far{p: p, id: p.session()}
	var err error
	var ringsFD, arenaFD int
	f.rings, ringsFD, err = segment.CreateRings(p.rings)
	must(err)
	f.arena, arenaFD, err = segment.CreateArena(64 << 20)
	must(err)
	f.there, err = bell.New()
	must(err)
	f.here, err = bell.New()
	must(err)
	fds = []int{ringsFD, arenaFD}
	for _, b := range []*bell.Bell{f.there, f.here} {
		fd, err := unix.FcntlInt(uintptr(b.FD()), unix.F_DUPFD_CLOEXEC, 0)
		must(err)
		fds = append(fds, fd)
	}
	return f, fds
}

// free frees what ends made.
func (f *far) free() {
	require.NoError(f.p.t, f.rings.Close())
	require.NoError(f.p.t, f.arena.Close())
	require.NoError(f.p.t, f.here.Close())
	require.NoError(f.p.t, f.there.Close())
}

// open opens a session.
func (p *plugin) open(h bmi.Host, listen []string, options map[string]string) (*far, error) {
	f, fds := p.ends()
	if p.client == nil {
		p.pass(f.id, fds...)
	} else {
		closeAll(fds)
	}
	reply, err := p.server.Open(context.Background(), &proto.OpenRequest{
		Session: f.id, Method: bmitest.Name, Listen: listen, Options: options, Rings: p.client == nil,
	})
	require.NoError(p.t, err)
	if reply.Failure != nil {
		f.free()
		return nil, errOf(reply.Failure)
	}
	f.join(h, reply.Info)
	if p.client != nil {
		f.pump, err = stream.Dial(context.Background(), p.client, f.id, f.rings, f.arena.Mem, f.there, f.here.Ring)
		require.NoError(p.t, err)
	}
	return f, nil
}

func errOf(f *proto.Failure) error {
	if f == nil {
		return nil
	}
	return wire.Status(f.Status).Err(f.Text)
}

func (f *far) join(h bmi.Host, i *proto.Info) {
	must := func(err error) { require.NoError(f.p.t, err) }
	pieces, err := arena.New(f.arena.Mem)
	must(err)
	f.out, err = ring.NewWriter(f.rings.ToPlugin)
	must(err)
	in, err := ring.NewReader(f.rings.ToProgram)
	must(err)
	ctx := context.Background()
	f.Method = host.New(host.Config{
		Host: h, Name: "far", Arena: pieces,
		Info: bmi.Info{
			Name: i.Name, Description: i.Description, Provider: i.Provider, MaxExpectedSize: int(i.MaxExpectedSize),
			MaxUnexpectedSize: int(i.MaxUnexpectedSize), EagerSize: int(i.EagerSize), MaxPieces: int(i.MaxPieces),
			Classes: i.Classes, RegisteredMemory: i.RegisteredMemory, Addresses: i.Addresses,
		},
		Resolve: func(address string) (string, error) {
			r, err := f.p.server.Resolve(ctx, &proto.ResolveRequest{Session: f.id, Address: address})
			must(err)
			return r.Address, errOf(r.Failure)
		},
		Check: func(address string) error {
			r, err := f.p.server.Check(ctx, &proto.CheckRequest{Session: f.id, Address: address})
			must(err)
			return errOf(r.Failure)
		},
		InRange: func(address, pattern string) (bool, error) {
			r, err := f.p.server.InRange(ctx, &proto.InRangeRequest{Session: f.id, Address: address, Pattern: pattern})
			must(err)
			return r.Inside, errOf(r.Failure)
		},
		Close: func(context.Context) error {
			if f.pump != nil {
				must(f.pump.Finish(ctx))
			}
			r, err := f.p.server.Close(ctx, &proto.CloseRequest{Session: f.id, Drain: int64(10 * time.Second)})
			must(err)
			if f.pump != nil {
				<-f.pump.Done()
				require.ErrorIs(f.p.t, f.pump.Err(), stream.ErrEnded)
			}
			return errOf(r.Failure)
		},
		Broken: func(err error) { require.NoError(f.p.t, err) },
	})
	f.Attach(&host.Line{Out: f.out, In: in, Bell: f.there.Ring})
}

// Close implements bmi.Method.
func (f *far) Close(ctx context.Context) error {
	err := f.Method.Close(ctx)
	f.free()
	return err
}

// Sleep and Wake implement bmi.Sleeper.
func (f *far) Sleep(timeout time.Duration) { require.NoError(f.p.t, f.here.Wait(timeout)) }
func (f *far) Wake()                       { f.here.Ring() }
