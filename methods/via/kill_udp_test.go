package via_test

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

const (
	udpKillRounds = 100
	// udpNoticed bounds how long an operation waits for a peer that was killed, and came
	// back at its address: that answers for its predecessor, or calls on its own.
	udpNoticed = 4 * time.Second
	// udpSilent bounds how long an operation waits for a silent peer: udp.GiveUp, and some more for
	// a busy machine.
	udpSilent = 8 * time.Second
)

// A survivor is an endpoint whose peer, in another process, is killed or stopped.
type survivor struct {
	t    *testing.T
	ep   *bmi.Endpoint
	ctx  *bmi.Context
	peer bmi.Addr
	spec string // of the victim
	c    *churn
}

func newSurvivor(t *testing.T) *survivor {
	t.Setenv(keyEnv, quickKey)
	address := methodtest.UDPPorts(t, "via+udp")
	ep, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{address("survivor")}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ep.Close() }) // messages sent to the last victim are lost
	s := &survivor{t: t, ep: ep, spec: address("victim") + " " + address("survivor")}
	s.ctx, err = ep.OpenContext()
	require.NoError(t, err)
	s.peer, err = ep.Lookup(address("victim"))
	require.NoError(t, err)
	return s
}

// start begins a new churn. If sends is false, only the other side sends.
func (s *survivor) start(sends bool) {
	s.c = &churn{ctx: s.ctx, peer: s.peer}
	begin := s.c.receive
	if sends {
		begin = s.c.start
	}
	require.NoError(s.t, begin())
}

// turn goes on, and reports whether anything failed.
func (s *survivor) turn(again bool) (failed error) {
	s.t.Helper()
	failed, err := s.c.turn(time.Millisecond, again)
	require.NoError(s.t, err)
	require.GreaterOrEqual(s.t, s.c.pending, 0, "an operation ended twice")
	return failed
}

// goOn continues for a time, and requires that nothing fails.
func (s *survivor) goOn(d time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		require.NoError(s.t, s.turn(true))
	}
}

// talk goes on until messages arrive.
func (s *survivor) talk(messages uint64) {
	s.t.Helper()
	first, start := s.received(), time.Now()
	for s.received() < first+messages {
		require.NoError(s.t, s.turn(true))
		require.Less(s.t, time.Since(start), wallclock.Patience, "nothing arrives: %+v", s.ep.Stats())
	}
}

func (s *survivor) received() uint64 { return s.ep.Stats().Methods[0].MessagesReceived }

// end waits until every operation has ended, requires that this takes no longer than limit, and
// returns how long it took.
func (s *survivor) end(limit time.Duration) (took time.Duration, failed error) {
	s.t.Helper()
	start := time.Now()
	for s.c.pending > 0 {
		if err := s.turn(false); err != nil {
			failed = err
		}
		require.Less(s.t, time.Since(start), wallclock.Patience, "%d operations hang: %+v", s.c.pending, s.ep.Stats())
	}
	took = time.Since(start)
	wallclock.Under(s.t, took, limit, "the end of all operations")
	return took, failed
}

// TestUDPKill kills the other side in the middle of traffic, most of it rendezvous,
// again and again, and starts another one at its address. Every operation ends, once
// and soon, and the next one reaches the new process.
func TestUDPKill(t *testing.T) {
	s := newSurvivor(t)
	seed := sim.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 3))
	rounds := udpKillRounds
	switch {
	case testing.Short():
		rounds = 10
	case race.Enabled:
		rounds = 20
	}
	began := time.Now()
	victim := startVictim(t, s.spec)
	var slowest time.Duration
	errors := map[string]int{}
	for round := range rounds {
		s.start(round%3 != 0)
		if round%4 != 0 { // else it may be killed while they connect
			s.talk(1)
		}
		s.goOn(time.Duration(rng.IntN(12)) * time.Millisecond)
		victim.kill()
		victim = startVictim(t, s.spec)
		took, failed := s.end(udpNoticed)
		if failed != nil {
			errors[failed.Error()]++
		}
		slowest = max(slowest, took)
	}
	s.start(true)
	s.talk(10)
	victim.kill()
	t.Logf("%d kills in %v, slowest end of all operations %v after the restart; seed %d; %v",
		rounds, time.Since(began).Round(time.Millisecond), slowest, seed, errors)
}

// TestUDPStopped: a peer that says nothing for a while is waited for.
func TestUDPStopped(t *testing.T) {
	s := newSurvivor(t)
	victim := startVictim(t, s.spec)
	s.start(true)
	s.talk(10)
	victim.signal(syscall.SIGSTOP)
	s.goOn(500 * time.Millisecond)
	victim.signal(syscall.SIGCONT)
	s.talk(100)
	victim.kill()
}

// TestUDPStoppedForLong: a peer that says nothing is not waited for for ever.
func TestUDPStoppedForLong(t *testing.T) {
	need.Soak(t, "it waits seconds for a real time-out; TestSimUDPPartition of internal/via/simtest has it in virtual time")
	s := newSurvivor(t)
	victim := startVictim(t, s.spec)
	s.start(true)
	s.talk(10)
	victim.signal(syscall.SIGSTOP)
	took, failed := s.end(udpSilent)
	require.ErrorIs(t, failed, bmi.ErrPeerFailed)
	assert.Regexp(t, "has said nothing for 4|does not answer", failed.Error())
	t.Logf("given up after %v: %v", took, failed)
	assert.Greater(t, took, 3*time.Second)

	// It finds out when it goes on, and the next process is reached.
	victim.signal(syscall.SIGCONT)
	victim.exits(wallclock.Patience)
	victim = startVictim(t, s.spec)
	s.start(true)
	s.talk(10)
	victim.kill()
}
