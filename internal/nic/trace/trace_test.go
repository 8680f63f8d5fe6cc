package trace

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl/vipltest"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata; review the difference")

func setup(seed uint64, opts simnic.Options, sink Sink) vipltest.Setup {
	world := sim.New(sim.Options{Seed: seed, Link: sim.LinkOptions{DelayMin: time.Microsecond, DelayMean: 20 * time.Microsecond}})
	w := simnic.New(world, opts)
	return vipltest.Setup{
		// Twice, because wrappers stack.
		Provider: Wrap(Wrap(w, sink, Options{Clock: w.Clock, Bytes: 16}), sink, Options{}),
		Name:     func(i int) string { return fmt.Sprintf("nic-%d", i) },
		Clock:    w.Clock,
		Step:     world.Step,
		Advance:  world.RunFor,
		Seed:     seed,
		Crash:    w.Crash,
	}
}

// TestConformance: a traced provider behaves as the provider does.
func TestConformance(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		if seed > 5 && seed < 1000 {
			t.Skip("what is below is tested on every seed elsewhere")
		}
		vipltest.Run(t, func(*testing.T) vipltest.Setup {
			return setup(seed, simnic.RandomOptions(sim.New(sim.Options{Seed: seed}).Rand()), &Recorder{})
		})
	})
}

// TestSameRunSameLines: nothing in a line depends on addresses or on randomness
// other than the seed.
func TestSameRunSameLines(t *testing.T) {
	run := func(seed uint64) string {
		var r Recorder
		for _, test := range vipltest.All() {
			if test.Name == "SendReceive/BothWays" || test.Name == "ConnectionManagement/ConnectAgain" {
				test.Run(t, setup(seed, simnic.RandomOptions(sim.New(sim.Options{Seed: seed}).Rand()), &r))
			}
		}
		return r.String()
	}
	for _, seed := range []uint64{1, 2, 3} {
		assert.Equal(t, run(seed), run(seed))
	}
	assert.NotEqual(t, run(1), run(2))
}

// TestTranscript drives two devices through most of the seam and compares the
// lines with testdata/seam.txt.
func TestTranscript(t *testing.T) {
	world := sim.New(sim.Options{Seed: 1, Link: sim.LinkOptions{DelayMin: time.Microsecond}})
	w := simnic.New(world, simnic.Options{})
	var r Recorder
	p := Wrap(w, &r, Options{Clock: w.Clock, Bytes: 4})
	require.Equal(t, "sim", p.Name())
	a := open(t, p, "a")
	b := open(t, p, "b")
	_, err := p.Open(nic.Config{Listen: "a"})
	require.ErrorIs(t, err, nic.ErrNameTaken)
	events := func() (all []nic.Event) {
		end := world.Now() + time.Millisecond
		for {
			var out [8]nic.Event
			n := a.Poll(out[:])
			n += b.Poll(out[n:])
			all = append(all, out[:n]...)
			if next, ok := world.Next(); n == 0 && (!ok || next > end || !world.Step()) {
				return all
			}
		}
	}

	mem := []byte("hello, world")
	ha, err := a.Register(mem, 0, 1)
	require.NoError(t, err)
	in := make([]byte, 32)
	hb, err := b.Register(in, nic.AccessRemoteWrite|nic.AccessRemoteRead, 1)
	require.NoError(t, err)
	attrs := nic.PortAttrs{Reliability: nic.ReliableDelivery, Tag: 1, RecvDepth: 4, SendDepth: 4, RemoteWrite: true}
	pa, err := a.OpenPort(attrs, "cookie a")
	require.NoError(t, err)
	pb, err := b.OpenPort(attrs, "cookie b")
	require.NoError(t, err)
	_, err = pa.PostSend(&nic.Descriptor{})
	require.Error(t, err)

	require.NoError(t, pa.Connect("b", []byte("hi"), time.Second))
	request := events()
	require.Len(t, request, 1)
	require.NoError(t, b.Reject(request[0].Conn.Request, []byte("busy")))
	require.Equal(t, nic.EventConnectFailed, events()[0].Kind)
	require.NoError(t, pa.Connect("b", nil, time.Second))
	require.Error(t, b.Accept(99, pb))
	require.Error(t, b.Accept(99, nil))
	require.NoError(t, b.Accept(events()[0].Conn.Request, pb))
	require.Equal(t, "cookie a", events()[0].Cookie)

	require.NoError(t, pb.PostRecv(&nic.Descriptor{Op: nic.OpRecv, Segments: []nic.Segment{{Data: in, Handle: hb}}}))
	require.NoError(t, pb.PostRecv(&nic.Descriptor{Op: nic.OpRecv, Flags: nic.FlagLoan}))
	require.NoError(t, pb.PostRecv(&nic.Descriptor{Op: nic.OpRecv, Segments: []nic.Segment{{Data: in, Handle: hb}}}))
	require.Error(t, pb.PostRecv(&nic.Descriptor{}))
	piece := func(n int) nic.Segment { return nic.Segment{Data: mem[:n], Handle: ha} }
	for _, d := range []*nic.Descriptor{
		{Segments: []nic.Segment{piece(2), piece(3)}, Flags: nic.FlagImmediate, Immediate: 7},
		{Segments: []nic.Segment{piece(12)}},
		{Op: nic.OpRDMARead, Remote: nic.Remote{Addr: 1, Handle: 1}, Segments: []nic.Segment{piece(1)}},
	} {
		_, err = pa.PostSend(d)
		require.NoError(t, err)
	}
	require.Len(t, events(), 8)
	require.NoError(t, pa.Close())
	require.NoError(t, a.Deregister(ha))
	require.Error(t, a.Deregister(ha))
	pb2, err := b.OpenPort(attrs, nil)
	require.NoError(t, err)
	pb2.Disconnect()
	_, err = b.OpenPort(nic.PortAttrs{}, nil)
	require.Error(t, err)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())

	path := filepath.Join("testdata", "seam.txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(r.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), r.String())
}

func open(t *testing.T, p nic.Provider, name string) nic.Device {
	d, err := p.Open(nic.Config{Listen: name})
	require.NoError(t, err)
	return d
}

func TestSinks(t *testing.T) {
	var buf bytes.Buffer
	ToWriter(&buf).Line("one")
	assert.Equal(t, "one\n", buf.String())
	buf.Reset()
	ToLog(slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))).Line("two")
	assert.Contains(t, buf.String(), "msg=two")
	assert.Equal(t, "op-9", opName(9))
	assert.Equal(t, "status-99", statusName(99))
}

// optional is a device with the optional interfaces that a test wants.
type optional struct {
	nic.Provider
	wrap func(nic.Device) nic.Device
}

func (o optional) Open(cfg nic.Config) (nic.Device, error) {
	d, err := o.Provider.Open(cfg)
	return o.wrap(d), err
}

type heap struct{}

func (heap) Alloc(size int, shared bool) ([]byte, error) { return make([]byte, size), nil }
func (heap) Free([]byte) error                           { return nil }

func TestOptionalInterfacesPassThrough(t *testing.T) {
	check := func(mode simnic.Mode, alloc bool) {
		w := simnic.New(sim.New(sim.Options{}), simnic.Options{Mode: mode})
		p := optional{w, func(d nic.Device) nic.Device {
			s, sleeps := d.(nic.Sleeper)
			switch {
			case alloc && sleeps:
				return struct {
					nic.Device
					nic.Sleeper
					heap
				}{d, s, heap{}}
			case alloc:
				return struct {
					nic.Device
					heap
				}{d, heap{}}
			}
			return d
		}}
		d := open(t, Wrap(p, &Recorder{}, Options{}), "x")
		_, sleeps := d.(nic.Sleeper)
		_, allocs := d.(nic.Allocator)
		assert.Equal(t, mode == simnic.Real, sleeps)
		assert.Equal(t, alloc, allocs)
		assert.NotNil(t, d.(interface{ Unwrap() nic.Device }).Unwrap())
		_, ok := d.NextDeadline()
		assert.False(t, ok)
		require.NoError(t, d.Close())
	}
	for _, mode := range []simnic.Mode{simnic.Stepped, simnic.Real} {
		check(mode, false)
		check(mode, true)
	}
}
