//go:build linux

package guest_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
	"github.com/viaduct-hpc/viaduct/internal/plugins/guest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/segment"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

const limit = wallclock.Patience

// A method treats all peers the same and completes receives at once.
type method struct {
	host  bmi.Host
	addr  bmi.Addr
	polls atomic.Int64
	wakes chan struct{}
	timer *time.Timer

	refuses bool                 // refuses to sleep
	at      func() time.Duration // NextDeadline; nil: none
	offer   atomic.Int64         // messages that arrive
	closing chan context.Context // if not nil, Close waits until its context is received
	closed  bool
}

type anybody struct{}

func (anybody) String() string { return "fake://anybody" }

func newMethod(h bmi.Host) *method {
	m := &method{host: h, wakes: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	m.addr = h.NewAddr(anybody{})
	return m
}

func (m *method) Info() bmi.Info                   { return bmi.Info{Name: "fake"} }
func (m *method) Resolve(string) (bmi.Addr, error) { return m.addr, nil }
func (m *method) PostSend(op *bmi.Op)              { op.Complete(op.Size, nil) }
func (m *method) PostRecv(op *bmi.Op)              { op.Complete(op.Size, nil) }
func (m *method) Cancel(*bmi.Op)                   {}

func (m *method) Poll() (did bool) {
	m.polls.Add(1)
	for m.offer.Load() > 0 && m.host.Arrived(m.addr, 0, 0, make([]byte, 512)) {
		m.offer.Add(-1)
		did = true
	}
	return did
}

func (m *method) Close(ctx context.Context) error {
	if m.closing != nil {
		m.closing <- ctx
	}
	m.closed = true
	return nil
}

// sleeper is a method that supports sleeping.
type sleeper struct{ *method }

func (m *sleeper) Arm() bool { return !m.refuses }
func (m *sleeper) Disarm()   {}
func (m *sleeper) Wake() {
	select {
	case m.wakes <- struct{}{}:
	default:
	}
}

func (m *sleeper) Sleep(timeout time.Duration) {
	if timeout < 0 {
		<-m.wakes
		return
	}
	m.timer.Reset(timeout)
	select {
	case <-m.wakes:
	case <-m.timer.C:
	}
}

// late is a method with a deadline.
type late struct{ *sleeper }

func (m *late) NextDeadline() (time.Duration, bool) { return m.at(), true }

// A bench is a Loop and the program's side of its rings.
type bench struct {
	t     testing.TB
	loop  *guest.Loop
	m     *method
	out   *ring.Writer
	in    *ring.Reader
	there *bell.Bell // the Loop's bell
	here  *bell.Bell
	clock func() time.Duration
	close []func() error
}

func newBench(t testing.TB, spin time.Duration) *bench {
	there, err := bell.New()
	require.NoError(t, err)
	return newBenchWith(t, spin, there)
}

func newBenchWith(t testing.TB, spin time.Duration, there *bell.Bell) *bench {
	must := func(err error) { require.NoError(t, err) }
	rings, fd, err := segment.CreateRings(64 << 10)
	must(err)
	must(os.NewFile(uintptr(fd), "rings").Close())
	b := &bench{t: t, there: there}
	b.here, err = bell.New()
	must(err)
	b.out, err = ring.NewWriter(rings.ToPlugin)
	must(err)
	b.in, err = ring.NewReader(rings.ToProgram)
	must(err)
	var gc guest.Config
	gc.In, err = ring.NewReader(rings.ToPlugin)
	must(err)
	gc.Out, err = ring.NewWriter(rings.ToProgram)
	must(err)
	gc.Bell = b.here.Ring
	start := time.Now()
	b.clock = func() time.Duration { return time.Since(start) }
	b.loop = guest.NewLoop(guest.LoopConfig{Config: gc, Rung: b.there, SpinMax: spin, Clock: b.clock})
	b.m = newMethod(b.loop.Host())
	b.close = []func() error{rings.Close, b.there.Close, b.here.Close}
	return b
}

// start starts the Loop; the test ends it.
func (b *bench) start(m bmi.Method) {
	b.loop.Start(m)
	b.t.Cleanup(func() {
		b.loop.End(context.Background())
		b.over()
		assert.True(b.t, b.m.closed)
		for _, f := range b.close {
			assert.NoError(b.t, f())
		}
	})
}

func (b *bench) over() {
	select {
	case <-b.loop.Done():
	case <-time.After(limit):
		panic("the loop does not end")
	}
}

// writeRecord writes a record.
func (b *bench) say(h wire.Head, rest string) bool {
	room, ok, err := b.out.Reserve(wire.HeadBytes + len(rest))
	require.NoError(b.t, err)
	if !ok {
		return false
	}
	h.Put(room)
	copy(room[wire.HeadBytes:], rest)
	b.out.Commit()
	if b.out.Asleep() {
		b.there.Ring()
	}
	return true
}

// hear waits for a record.
func (b *bench) hear() (h wire.Head) {
	for start := time.Now(); ; {
		record, ok, err := b.in.Next()
		require.NoError(b.t, err)
		if ok {
			_, err = h.Parse(record)
			require.NoError(b.t, err)
			return h
		}
		require.Less(b.t, time.Since(start), limit, "the loop says nothing")
		if b.in.Arm() {
			require.NoError(b.t, b.here.Wait(time.Second))
		}
		b.in.Disarm()
	}
}

func (b *bench) meet() {
	b.say(wire.Head{Kind: wire.KindPeer, Flags: wire.FlagText, Peer: 1}, "fake://anybody")
}

func (b *bench) recv(op uint64) bool {
	return b.say(wire.Head{Kind: wire.KindRecv, Peer: 1, Op: op}, "")
}

// each runs a test with each kind of method.
func each(t *testing.T, test func(t *testing.T, b *bench)) {
	for _, name := range []string{"sleeper", "no sleeper", "refuses"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, -1)
			m := bmi.Method(b.m)
			if name != "no sleeper" {
				m = &sleeper{b.m}
			}
			b.m.refuses = name == "refuses"
			b.start(m)
			test(t, b)
		})
	}
}

// asleep waits until the Loop takes hardly any turns. A method that cannot be slept on, with an operation in progress, gets eight for
// each millisecond, so 240 in this time; without a pause in between they are many thousands.
func (b *bench) asleep() {
	require.Eventually(b.t, func() bool {
		before := b.m.polls.Load()
		<-time.After(30 * time.Millisecond)
		return b.m.polls.Load()-before < 1000
	}, limit, time.Millisecond, "it takes one turn after the other although there is nothing to do")
}

// TestTheBellWakes: a record of the program ends a sleep.
func TestTheBellWakes(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.meet()
		for op := range uint64(5) {
			b.asleep()
			b.recv(op)
			h := b.hear()
			require.Equal(t, op, h.Op)
			require.Equal(t, wire.StatusOK, h.Status)
		}
	})
}

// TestTheMethodWakes: Host.Wake ends a sleep, from any goroutine.
func TestTheMethodWakes(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.asleep()
		b.m.offer.Store(1)
		b.m.host.Wake()
		require.Equal(t, wire.KindStranger, b.hear().Kind)
		require.Equal(t, wire.KindArrived, b.hear().Kind)
	})
}

// TestRoomAgain: records without room are written when there is room, although no bell tells; until
// then the Loop does not poll all the time.
func TestRoomAgain(t *testing.T) {
	const many = 3000 // more than fit in the ring
	each(t, func(t *testing.T, b *bench) {
		b.m.offer.Store(many)
		b.m.host.Wake()
		require.Eventually(t, func() bool { n := b.m.offer.Load(); return n < many && n > 0 }, limit, time.Millisecond)
		b.asleep()
		require.Equal(t, wire.KindStranger, b.hear().Kind)
		for range many {
			require.Equal(t, wire.KindArrived, b.hear().Kind)
		}
		b.meet()
		for op := uint64(0); op < many; { // the program does not read their records yet
			if b.recv(op) {
				op++
			}
		}
		b.asleep()
		for op := range uint64(many) {
			require.Equal(t, op, b.hear().Op)
		}
	})
}

// TestDeadline: a method with a deadline gets its Poll, and the Loop sleeps until then.
func TestDeadline(t *testing.T) {
	b := newBench(t, -1)
	const after = 60 * time.Millisecond
	var first time.Duration
	ready := make(chan time.Duration, 1)
	m := &late{&sleeper{b.m}}
	b.m.at = func() time.Duration {
		now := b.clock()
		switch {
		case first == 0:
			first = now + after
		case now >= first:
			select {
			case ready <- now:
			default:
			}
			return now + time.Hour
		}
		return first
	}
	b.start(m)
	select {
	case <-ready:
	case <-time.After(limit):
		t.Fatal("nobody looked")
	}
	assert.Less(t, b.m.polls.Load(), int64(200))
}

// TestSpinning: a Loop with frequent requests answers without sleeping.
func TestSpinning(t *testing.T) {
	b := newBench(t, 0)
	b.start(&sleeper{b.m})
	b.meet()
	require.Eventually(t, func() bool {
		b.recv(1)
		b.hear()
		return b.loop.Stats().SpinsWon > 0
	}, limit, time.Microsecond)
}

// TestDo: tasks run between two turns.
func TestDo(t *testing.T) {
	b := newBench(t, -1)
	b.start(&sleeper{b.m})
	ctx := t.Context()
	n := 0
	for i := range 100 {
		require.NoError(t, b.loop.Do(ctx, func() { n++ }))
		require.Equal(t, i+1, n)
	}
	require.NoError(t, b.loop.Do(ctx, nil))

	stuck, free := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() { done <- b.loop.Do(ctx, func() { close(stuck); <-free }) }()
	<-stuck
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.loop.Do(short, func() { n++ }), context.DeadlineExceeded, "a method that hangs")
	close(free)
	require.NoError(t, <-done)
	require.NoError(t, b.loop.Do(ctx, nil))
	assert.Equal(t, 100, n, "what nobody waits for any more is not done")
}

// TestEnd: a method that closes slowly blocks no caller.
func TestEnd(t *testing.T) {
	b := newBench(t, -1)
	b.m.closing = make(chan context.Context)
	b.start(&sleeper{b.m})
	b.meet()
	b.recv(1)
	drain, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.loop.End(drain)
	b.loop.End(context.Background())
	require.Eventually(t, func() bool {
		return errors.Is(b.loop.Do(t.Context(), func() {}), bmi.ErrClosed)
	}, limit, time.Microsecond)
	require.NoError(t, b.loop.Do(t.Context(), nil), "it is not the program's fault")
	require.Same(t, drain, <-b.m.closing, "the first counts")
	b.over()
	require.NoError(t, b.loop.Err())
	require.ErrorIs(t, b.loop.Do(t.Context(), func() {}), bmi.ErrClosed)
	require.Equal(t, uint64(1), b.hear().Op, "what was said before is done")
}

// TestBrokenRules: garbage ends the Loop, and closes the method without waiting.
func TestBrokenRules(t *testing.T) {
	b := newBench(t, -1)
	b.m.closing = make(chan context.Context, 1)
	b.start(&sleeper{b.m})
	b.asleep()
	b.say(wire.Head{Kind: wire.KindDone}, "")
	b.over()
	require.ErrorIs(t, b.loop.Err(), guest.ErrProgram)
	require.ErrorIs(t, b.loop.Do(t.Context(), nil), guest.ErrProgram)
	require.Error(t, (<-b.m.closing).Err())
}

// TestNoBell: a bell that does not support waiting ends the Loop.
func TestNoBell(t *testing.T) {
	var ends [2]int
	require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
	require.NoError(t, unix.Close(ends[1]))
	there, err := bell.Of(ends[0])
	require.NoError(t, err)
	b := newBenchWith(t, -1, there)
	b.start(&sleeper{b.m})
	b.over()
	require.ErrorIs(t, b.loop.Err(), guest.ErrProgram)
}
