package tool_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/internal/bridge"
	"github.com/viaduct-hpc/viaduct/mpi/tool"
)

// simulated is the VIA method over simulated datagrams.
const simulated = "via+" + udptest.Scheme

type simulatedDriver struct{}

// simulatedOptions are those of one endpoint. The ranks open their devices in turn, though they begin
// at once, because the order makes a difference to the world: opened is closed after, and turn before.
type simulatedOptions struct {
	world        *udptest.World
	turn, opened chan struct{}
	via          via.Options
}

func init() { bmi.Register(simulatedDriver{}) }

func (simulatedDriver) Name() string { return simulated }

func (simulatedDriver) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	o := cfg.Options.(simulatedOptions)
	<-o.turn
	defer close(o.opened)
	cfg.Options = o.via
	return via.Driver(o.world).Open(ctx, cfg)
}

// A simulation is a job of two ranks in virtual time, driven by the test's goroutine.
type simulation struct {
	t     *testing.T
	world *udptest.World
	procs [2]*mpi.Process
}

func simulate(t *testing.T, seed uint64, loss float64) *simulation {
	s := &simulation{t: t, world: udptest.New(seed, sim.LinkOptions{DelayMin: 50 * time.Microsecond, Loss: loss}, simdgram.Options{}, udp.Provider{Insecure: true})}
	boots, err := boot.Local(2)
	require.NoError(t, err)
	var ranks sync.WaitGroup
	turn := make(chan struct{})
	close(turn)
	for rank := range s.procs {
		opened := make(chan struct{})
		o := mpi.Options{Boot: boots[rank], Method: simulated + "://" + s.world.NewName(), Host: "host"}
		o.Endpoint = bmi.Config{Manual: true, Clock: s.world.Clock, Options: map[string]any{
			simulated: simulatedOptions{s.world, turn, opened, via.Options{Seed: seed + uint64(rank), Idle: s.world.Idle}},
		}}
		turn = opened
		ranks.Go(func() {
			var err error
			s.procs[rank], err = mpi.Init(bg, o)
			assert.NoError(t, err)
		})
	}
	ranks.Wait()
	require.False(t, t.Failed())
	t.Cleanup(func() {
		gone, cancel := context.WithCancel(bg)
		cancel()
		for rank, p := range s.procs {
			_ = p.Endpoint().Shutdown(gone) // messages under way do not matter
			_ = boots[rank].Close()
		}
	})
	return s
}

// step polls both ranks, and lets time pass.
func (s *simulation) step() {
	for _, p := range s.procs {
		within.Engine(p.World()).Progress()
	}
	require.True(s.t, s.world.Step(), "time is over")
}

// within is the inside of package mpi.
var within = bridge.Take[mpi.Comm, mpi.Request, mpi.Call]()

// until lets time pass until all requests have ended.
func (s *simulation) until(rs ...mpi.Request) {
	s.t.Helper()
	for {
		s.step()
		left := 0
		for _, r := range rs {
			_, done, err := r.Test()
			require.NoError(s.t, err)
			if !done {
				left++
			}
		}
		if left == 0 {
			return
		}
	}
}

// message moves a message from rank 0 to rank 1.
func (s *simulation) message(bytes int) {
	s.until(s.procs[0].World().Isend(mpi.Slice(make([]byte, bytes)), 1, 0), s.procs[1].World().Irecv(mpi.Slice(make([]byte, bytes)), 0, 0))
}

// TestRetransmissions: what the network loses is retransmitted, which variables and events show. The same
// seed loses the same.
func TestRetransmissions(t *testing.T) {
	run := func(loss float64) (retransmitted, timedOut uint64) {
		s := simulate(t, 1, loss)
		s.message(1)
		i := open(t, s.procs[0])
		link := "bmi." + simulated + ".link."
		v := newWatch(t, i)
		v.add(nil, link+"retransmitted", link+"timed_out", link+"segments_sent", "bmi."+simulated+".nic.segments.resent")
		v.add(s.procs[0].World(), "mpi.comm.peer.link.retransmitted")
		require.NoError(t, v.Start())
		var events uint64
		l, err := i.Listen("bmi.timed_out", tool.Restricted, func(e tool.Event) {
			assert.Equal(t, simulated, e.Values[0])
			events++
		})
		require.NoError(t, err)
		for range 20 {
			s.message(64 << 10)
		}
		<-l.Stop()
		got, err := v.Read()
		require.NoError(t, err)
		assert.Equal(t, got[1][0], events, "time-outs")
		assert.Greater(t, got[2][0], uint64(20*64<<10/1500), "segments")
		assert.Equal(t, got[0], got[3], "the NIC's own counter")
		assert.Equal(t, []uint64{0, got[0][0]}, got[4], "by rank")
		assert.LessOrEqual(t, got[1][0], got[0][0])
		return got[0][0], got[1][0]
	}
	none, never := run(0)
	assert.Zero(t, none)
	assert.Zero(t, never)
	some, timedOut := run(0.05)
	assert.Positive(t, some)
	assert.Positive(t, timedOut)
	again, timedOutAgain := run(0.05)
	assert.Equal(t, some, again)
	assert.Equal(t, timedOut, timedOutAgain)
}

// TestCredits: each packet takes a credit, which the receiver returns when it polls.
func TestCredits(t *testing.T) {
	s := simulate(t, 1, 0)
	s.message(1)
	w := s.procs[0].World()
	v := newWatch(t, open(t, s.procs[0]))
	v.add(w, "mpi.comm.peer.credits_available", "mpi.comm.peer.state", "mpi.comm.peer.credit_stalls")
	v.add(nil, "bmi."+simulated+".credit_stalls")
	require.NoError(t, v.Start())
	credits := func() uint64 {
		got, err := v.by["mpi.comm.peer.credits_available"].Read()
		require.NoError(t, err)
		return got[1]
	}
	state := v.by["mpi.comm.peer.state"]
	got, err := state.Read()
	require.NoError(t, err)
	assert.Equal(t, "READY", state.Enum[got[1]])
	before := credits()
	require.Greater(t, before, uint64(20))
	send := func(n int) (rs []mpi.Request) {
		for range n {
			rs = append(rs, w.Isend(mpi.Slice(make([]byte, 8)), 1, 0))
		}
		return rs
	}
	rs := send(10)
	assert.Equal(t, before-10, credits(), "10 packets are on their way")
	v.is(map[string]uint64{"bmi." + simulated + ".credit_stalls": 0}, "there are credits")
	rs = append(rs, send(int(before))...)
	stalls, err := v.by["bmi."+simulated+".credit_stalls"].Read()
	require.NoError(t, err)
	assert.Positive(t, stalls[0], "there are no credits left")
	for range 10 + before {
		rs = append(rs, s.procs[1].World().Irecv(mpi.Slice(make([]byte, 8)), 0, 0))
	}
	s.until(rs...)
	for range 100 {
		s.step()
	}
	assert.Greater(t, credits(), before/2, "they come back")
}
