//go:build linux

package stream_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/arena"
	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
	"github.com/viaduct-hpc/viaduct/internal/plugins/guest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/host"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/segment"
	"github.com/viaduct-hpc/viaduct/internal/plugins/stream"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A service is a plugin that serves only the stream.
type service struct {
	proto.UnimplementedMethodServer
	data func(proto.Method_DataServer) error
}

// Data implements proto.MethodServer.
func (s service) Data(d proto.Method_DataServer) error { return s.data(d) }

// connect returns a client of a plugin in this process.
func connect(t testing.TB, data func(proto.Method_DataServer) error) proto.MethodClient {
	l := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.MaxRecvMsgSize(stream.RecordBytesMax))
	proto.RegisterMethodServer(server, service{data: data})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, conn.Close())
		server.Stop()
		assert.NoError(t, <-served)
	})
	return proto.NewMethodClient(conn)
}

// A far opens the in-memory method as if it were in a plugin without shared memory.
type far struct {
	driver                  bmi.Driver
	t                       testing.TB
	ring                    int // bytes of each
	hostArena, guestArena   int
	client                  proto.MethodClient
	latest                  atomic.Uint64
	sessions                sync.Map // *session, by number
	pumpErrors, serveErrors atomic.Int64
}

// replace replaces the driver of the in-memory method by a far.
func replace(t *testing.T, ring, hostArena, guestArena int) *far {
	all := bmi.Drivers()
	i := slices.IndexFunc(all, func(d bmi.Driver) bool { return d.Name() == bmitest.Name })
	require.GreaterOrEqual(t, i, 0)
	f := &far{driver: all[i], t: t, ring: ring, hostArena: hostArena, guestArena: guestArena}
	f.client = connect(t, f.data)
	bmi.Remove(f.driver)
	require.NoError(t, bmi.Add(f))
	t.Cleanup(func() {
		bmi.Remove(f)
		require.NoError(t, bmi.Add(f.driver))
		assert.Zero(t, f.pumpErrors.Load(), "pumps that failed")
		assert.Zero(t, f.serveErrors.Load(), "streams that failed")
	})
	return f
}

func (f *far) Name() string { return bmitest.Name }

// A store is the memory of one side of a session: rings, memory for messages, a bell.
type store struct {
	rings *segment.Rings
	arena []byte
	bell  *bell.Bell
}

func newStore(t testing.TB, ring, arena int) store {
	rings, fd, err := segment.CreateRings(ring)
	require.NoError(t, err)
	require.NoError(t, unix.Close(fd))
	mem, err := unix.Mmap(-1, 0, arena, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	require.NoError(t, err)
	b, err := bell.New()
	require.NoError(t, err)
	return store{rings, mem, b}
}

func (s *store) free(t testing.TB) {
	assert.NoError(t, s.rings.Close())
	assert.NoError(t, unix.Munmap(s.arena))
	assert.NoError(t, s.bell.Close())
}

// A session is the side of the plugin.
type session struct {
	f      *far
	store                // the bell is rung by the engine
	kick   chan struct{} // wakes the loop
	mu     sync.Mutex    // of engine and method
	engine *guest.Engine
	method bmi.Method
	over   context.Context // of the session
	cancel context.CancelFunc
	loop   sync.WaitGroup
	closed bool
	id     uint64

	posted, came atomic.Int64 // operations: by the program, to the method
	served       sync.WaitGroup

	attached chan *stream.Limited
}

func (s *session) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

func (f *far) newSession(ctx context.Context, cfg bmi.MethodConfig) (*session, error) {
	s := &session{f: f, store: newStore(f.t, f.ring, f.guestArena), kick: make(chan struct{}, 1), attached: make(chan *stream.Limited, 1)}
	s.served.Add(1)
	s.over, s.cancel = context.WithCancel(context.Background())
	in, err := ring.NewReader(s.rings.ToPlugin)
	require.NoError(f.t, err)
	out, err := ring.NewWriter(s.rings.ToProgram)
	require.NoError(f.t, err)
	s.engine = guest.New(guest.Config{In: in, Out: out, Arena: s.arena, Bell: s.bell.Ring, Wake: s.wake})
	cfg.Host = s.engine.Host()
	if s.method, err = f.driver.Open(ctx, cfg); err != nil {
		s.cancel()
		s.free(f.t)
		return nil, err
	}
	s.engine.Start(counted{s.method, s.method.(bmi.Dropper), s})
	s.loop.Go(s.run)
	return s, nil
}

// run is a loop around the engine that polls often, because the method does not support sleeping
// here.
func (s *session) run() {
	for s.over.Err() == nil {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return
		}
		moved, err := s.engine.Turn()
		s.mu.Unlock()
		if !assert.NoError(s.f.t, err) {
			return
		}
		if moved {
			continue
		}
		select {
		case <-s.kick:
		case <-s.over.Done():
		case <-time.After(100 * time.Microsecond):
		}
	}
}

// data is Data of the plugin.
func (f *far) data(d proto.Method_DataServer) error {
	attach, err := d.Recv()
	if err != nil {
		return err
	}
	v, ok := f.sessions.Load(attach.Session)
	if !ok || attach.Kind != proto.Kind_ATTACH {
		return bmi.ErrInvalid
	}
	s := v.(*session)
	defer s.served.Done()
	l := stream.Limit(s.over, d)
	defer l.Release()
	s.attached <- l
	err = stream.Serve(l, s.rings, s.arena, s.bell, s.wake)
	if err != nil {
		f.serveErrors.Add(1)
		f.t.Logf("serve: %v", err)
	}
	return err
}

// Open implements bmi.Driver.
func (f *far) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	s, err := f.newSession(ctx, cfg)
	if err != nil {
		return nil, err
	}
	id := f.latest.Add(1)
	s.id = id
	f.sessions.Store(id, s)
	near := newStore(f.t, f.ring, f.hostArena)
	var line host.Line
	line.Out, err = ring.NewWriter(near.rings.ToPlugin)
	require.NoError(f.t, err)
	line.In, err = ring.NewReader(near.rings.ToProgram)
	require.NoError(f.t, err)
	line.Bell = near.bell.Ring
	a, err := arena.New(near.arena)
	require.NoError(f.t, err)
	pump, err := stream.Dial(ctx, f.client, id, near.rings, near.arena, near.bell, cfg.Host.Wake)
	if err != nil {
		return nil, err
	}
	m := host.New(s.config(cfg, a, pump))
	m.Attach(&line)
	return &joint{m, s, func() { near.free(f.t) }}, nil
}

// A joint is a host.Method that counts posts and frees its resources.
type joint struct {
	*host.Method
	s    *session
	free func()
}

func (j *joint) PostSend(op *bmi.Op) {
	j.s.posted.Add(1)
	j.Method.PostSend(op)
}

func (j *joint) PostRecv(op *bmi.Op) {
	j.s.posted.Add(1)
	j.Method.PostRecv(op)
}

func (j *joint) Drop(p bmi.Peer) {
	j.s.f.settle()
	j.Method.Drop(p)
}

func (j *joint) Close(ctx context.Context) error {
	err := j.Method.Close(ctx)
	j.free()
	return err
}

// counted is the method of a session, which counts its operations.
type counted struct {
	bmi.Method
	bmi.Dropper
	s *session
}

func (c counted) PostSend(op *bmi.Op) {
	c.s.came.Add(1)
	c.Method.PostSend(op)
}

func (c counted) PostRecv(op *bmi.Op) {
	c.s.came.Add(1)
	c.Method.PostRecv(op)
}

// config connects the control calls directly with the method.
func (s *session) config(cfg bmi.MethodConfig, a *arena.Arena, pump *stream.Pump) host.Config {
	resolve := func(address string) (bmi.Addr, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.method.Resolve(address)
	}
	return host.Config{
		Host: cfg.Host, Info: s.method.Info(), Name: "far", Arena: a,
		Resolve: func(address string) (string, error) {
			a, err := resolve(address)
			return a.String(), err
		},
		Check: func(address string) error {
			a, err := resolve(address)
			if err != nil {
				return err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.method.(bmi.Checker).Check(bmi.HostPeer(a))
		},
		InRange: func(address, pattern string) (bool, error) {
			a, err := resolve(address)
			if err != nil {
				return false, err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.method.(bmi.Ranger).InRange(bmi.HostPeer(a), pattern)
		},
		Close:  func(ctx context.Context) error { s.close(ctx, pump); return nil },
		Broken: func(err error) { assert.NoError(s.f.t, err) },
	}
}

// close ends a session as a program and a service do: earlier records arrive, as far as ctx leaves
// time.
func (s *session) close(ctx context.Context, pump *stream.Pump) {
	_ = pump.Finish(ctx) // fails if there was too little time, as on a busy machine
	s.f.settle()
	s.end(ctx)
	select {
	case <-pump.Done():
		if err := pump.Err(); err != stream.ErrEnded {
			s.f.pumpErrors.Add(1)
			s.f.t.Logf("pump: %v", err)
		}
	case <-ctx.Done():
	}
	pump.Close()
	s.f.sessions.Delete(s.id)
	s.served.Wait()
	s.store.free(s.f.t)
}

// settle waits until all posted operations have reached the methods. The suite expects that
// operations posted before an endpoint closes, or drops another, arrive before that. Operations
// that wait for memory do not arrive.
func (f *far) settle() {
	const still = 500 * time.Millisecond // nothing more comes
	f.sessions.Range(func(_, v any) bool {
		s := v.(*session)
		came, at := s.came.Load(), time.Now()
		for came < s.posted.Load() && time.Since(at) < still {
			time.Sleep(50 * time.Microsecond)
			if now := s.came.Load(); now != came {
				came, at = now, time.Now()
			}
		}
		return true
	})
}

// end does the part of the service.
func (s *session) end(ctx context.Context) {
	l := <-s.attached
	select {
	case <-l.Heard():
	case <-ctx.Done():
	}
	s.mu.Lock()
	_, err := s.engine.Turn()
	assert.NoError(s.f.t, err)
	s.closed = true
	err = s.engine.Close(ctx)
	s.mu.Unlock()
	assert.NoError(s.f.t, err)
	s.cancel()
	s.loop.Wait()
}

// TestConformance: a method behind a stream works like any other.
func TestConformance(t *testing.T) {
	rooms := []struct {
		name                        string
		ring, hostArena, guestArena int
	}{
		{"room for all", 1 << 20, 256 << 20, 256 << 20},
		{"small", 512 << 10, 256 << 20, 128 << 20},
	}
	for i, c := range rooms {
		t.Run(c.name, func(t *testing.T) {
			replace(t, c.ring, c.hostArena, c.guestArena)
			tests := methodtest.All
			if c.name == "room for all" {
				tests = tests.Again()
			}
			tests = tests.Brief(i, 4)
			seeds := sim.SeedsAtMost(t, 8) // in real time they are about little but chance
			methodtest.RunTests(t, tests, func(methodtest.T) *methodtest.Subject {
				return &methodtest.Subject{
					Address: methodtest.Named(bmitest.Name),
					Seeds:   seeds,
				}
			})
		})
	}
}
