package simnic

import (
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

func realWorld(link sim.LinkOptions) *World {
	return New(sim.New(sim.Options{Seed: 1, Link: link}), Options{Mode: Real})
}

// An actor owns a device in the Real mode, and sleeps when there is nothing to do.
type actor struct {
	t    *testing.T
	dev  nic.Device
	s    nic.Sleeper
	port nic.Port
	mem  []byte
	h    nic.Handle
}

func newActor(t *testing.T, w *World, name string) *actor {
	dev, err := w.Open(nic.Config{Listen: name, Clock: w.Clock})
	require.NoError(t, err)
	a := &actor{t: t, dev: dev, s: dev.(nic.Sleeper), mem: make([]byte, 4096)}
	a.port, err = dev.OpenPort(nic.PortAttrs{Reliability: nic.ReliableDelivery, Tag: 1, RecvDepth: 64, SendDepth: 64}, a)
	require.NoError(t, err)
	a.h, err = dev.Register(a.mem, 0, 1)
	require.NoError(t, err)
	return a
}

// next waits for one event.
func (a *actor) next() nic.Event {
	give := time.Now().Add(20 * time.Second)
	for time.Now().Before(give) {
		var out [1]nic.Event
		if a.dev.Poll(out[:]) == 1 {
			return out[0]
		}
		if a.s.Arm() {
			a.s.Sleep(time.Second)
		}
		a.s.Disarm()
	}
	a.t.Error("nothing happened")
	return nic.Event{}
}

// TestOwnersOnGoroutines plays ping-pong between two owners that sleep.
func TestOwnersOnGoroutines(t *testing.T) {
	w := realWorld(sim.LinkOptions{DelayMin: 5 * time.Microsecond, DelayMean: 20 * time.Microsecond})
	const rounds = 200
	a, b := newActor(t, w, "a"), newActor(t, w, "b")
	post := func(x *actor) {
		assert.NoError(t, x.port.PostRecv(&nic.Descriptor{Op: nic.OpRecv, Segments: []nic.Segment{{Data: x.mem[:8], Handle: x.h}}}))
	}
	send := func(x *actor, number uint64) {
		binary.LittleEndian.PutUint64(x.mem[8:], number)
		_, err := x.port.PostSend(&nic.Descriptor{Segments: []nic.Segment{{Data: x.mem[8:16], Handle: x.h}}})
		assert.NoError(t, err)
	}
	expect := func(x *actor, number uint64) {
		for {
			ev := x.next()
			if ev.Kind == nic.EventSend {
				continue
			}
			if assert.Equal(t, nic.EventRecv, ev.Kind) {
				assert.Equal(t, number, binary.LittleEndian.Uint64(x.mem))
			}
			return
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		post(a)
		assert.NoError(t, a.port.Connect("b", nil, 0))
		assert.Equal(t, nic.EventConnected, a.next().Kind)
		for i := range uint64(rounds) {
			send(a, i)
			expect(a, i)
			post(a)
		}
	})
	wg.Go(func() {
		post(b)
		assert.NoError(t, b.dev.Accept(b.next().Conn.Request, b.port))
		assert.Equal(t, nic.EventConnected, b.next().Kind)
		for i := range uint64(rounds) {
			expect(b, i)
			post(b)
			send(b, i)
		}
	})
	wg.Wait()
	require.NoError(t, a.dev.Close())
	require.NoError(t, b.dev.Close())
}

func TestSleepEnds(t *testing.T) {
	w := realWorld(sim.LinkOptions{})
	a := newActor(t, w, "a")

	start := time.Now()
	a.s.Sleep(10 * time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(start), 10*time.Millisecond, "not before the time is over")

	a.s.Wake()
	a.s.Sleep(-1) // the Wake counts for the next Sleep

	var wg sync.WaitGroup
	wg.Go(func() { a.s.Sleep(-1) })
	a.s.Wake()
	wg.Wait()

	// The end of a time-out of the device ends it, too.
	require.NoError(t, a.port.Connect("a", nil, 5*time.Millisecond))
	_, ok := a.dev.NextDeadline()
	assert.True(t, ok)
	require.Equal(t, nic.EventConnectRequest, a.next().Kind)
	a.s.Sleep(-1)
	assert.False(t, a.s.Arm())
	require.Equal(t, nic.EventConnectFailed, a.next().Kind)

	wg.Go(func() { a.s.Sleep(-1) })
	require.NoError(t, a.dev.Close())
	wg.Wait() // closing wakes, and Close may come before Sleep
	assert.False(t, a.s.Arm())
}

// TestTurnedAway: no event follows a post that was refused at random, so a device
// must keep its owner awake until the next poll.
func TestTurnedAway(t *testing.T) {
	w := New(sim.New(sim.Options{}), Options{Mode: Real, Again: 1})
	a := newActor(t, w, "a")
	assert.True(t, a.s.Arm())
	require.ErrorIs(t, a.port.PostRecv(&nic.Descriptor{Op: nic.OpRecv}), nic.ErrAgain)
	a.s.Sleep(-1) // returns at once
	assert.False(t, a.s.Arm())
	assert.Zero(t, a.dev.Poll(make([]nic.Event, 1)))
	assert.True(t, a.s.Arm())
	require.NoError(t, a.dev.Close())
}

// TestPolled: a program that can only poll makes progress.
func TestPolled(t *testing.T) {
	w := New(sim.New(sim.Options{Link: sim.LinkOptions{DelayMin: time.Second}}), Options{Mode: Polled})
	d, err := w.Provider(DefaultCaps()).Open(nic.Config{Listen: "a"})
	require.NoError(t, err)
	assert.Equal(t, "sim", w.Provider(nic.Caps{}).Name())
	p, err := d.OpenPort(nic.PortAttrs{RecvDepth: 1, SendDepth: 1}, nil)
	require.NoError(t, err)
	require.NoError(t, p.Connect("nobody", nil, 0))
	out := make([]nic.Event, 1)
	polls := 0
	for d.Poll(out) == 0 {
		polls++
		require.Less(t, polls, 10000)
	}
	assert.Equal(t, nic.EventConnectFailed, out[0].Kind)
	_, ok := d.NextDeadline()
	assert.False(t, ok)
	require.NoError(t, d.Close())
}

func TestIdle(t *testing.T) {
	world := sim.New(sim.Options{})
	w := New(world, Options{})
	assert.Same(t, world, w.Sim())
	w.Idle(time.Second)
	assert.Equal(t, time.Second, w.Clock(), "nothing to do: time passes")
	ran := false
	world.After(time.Minute, func() { ran = true })
	w.Idle(time.Second)
	assert.False(t, ran, "not within the time")
	w.Idle(-1)
	assert.True(t, ran)
	assert.Panics(t, func() { w.Idle(-1) }, "nothing could end this wait")
}
