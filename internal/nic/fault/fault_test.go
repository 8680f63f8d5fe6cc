package fault

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/trace"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl/vipltest"
)

func setup(seed uint64, opts Options) vipltest.Setup {
	world := sim.New(sim.Options{Seed: seed, Link: sim.LinkOptions{DelayMin: time.Microsecond, DelayMean: 20 * time.Microsecond}})
	w := simnic.New(world, simnic.RandomOptions(sim.New(sim.Options{Seed: seed}).Rand()))
	return vipltest.Setup{
		Provider: Wrap(w, opts),
		Name:     func(i int) string { return fmt.Sprintf("nic-%d", i) },
		Clock:    w.Clock,
		Step:     world.Step,
		Advance:  world.RunFor,
		Seed:     seed,
		Crash:    w.Crash,
	}
}

// TestConformance: without faults, and with those that every consumer must expect
// at any time, the provider still keeps the contract.
func TestConformance(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		if seed > 5 && seed < 1000 {
			t.Skip("what is below is tested on every seed elsewhere")
		}
		vipltest.Run(t, func(*testing.T) vipltest.Setup { return setup(seed, Options{}) })
		vipltest.Run(t, func(*testing.T) vipltest.Setup {
			return setup(seed, Options{Rand: rand.New(rand.NewPCG(seed, 3)), Chances: Chances{Again: 0.2, Delay: 0.2}})
		})
	})
}

// A bench is two devices with a port each; faults are injected into the first.
type bench struct {
	*testing.T
	world  *sim.World
	lines  *trace.Recorder
	a, b   nic.Device
	pa, pb nic.Port
	mem    []byte
	handle nic.Handle
	got    []nic.Event
}

func newBench(t *testing.T, reliability nic.Reliability, opts Options) *bench {
	b := &bench{T: t, world: sim.New(sim.Options{Seed: 1}), lines: &trace.Recorder{}, mem: make([]byte, 64)}
	w := simnic.New(b.world, simnic.Options{})
	var err error
	b.a, err = trace.Wrap(Wrap(w, opts), b.lines, trace.Options{}).Open(nic.Config{Listen: "a"})
	require.NoError(t, err)
	b.b, err = w.Open(nic.Config{Listen: "b"})
	require.NoError(t, err)
	b.handle, err = b.b.Register(b.mem, 0, 1)
	require.NoError(t, err)
	attrs := nic.PortAttrs{Reliability: reliability, Tag: 1, RecvDepth: 8, SendDepth: 8}
	b.pa, err = b.a.OpenPort(attrs, "a")
	require.NoError(t, err)
	b.pb, err = b.b.OpenPort(attrs, "b")
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(b.lines.String())
		}
		require.NoError(t, b.a.Close())
		require.NoError(t, b.b.Close())
	})
	return b
}

// run runs the world for a while, and returns the events of a cookie.
func (b *bench) run(cookie any) (mine []nic.Event) {
	var out [4]nic.Event
	end := b.world.Now() + 20*time.Millisecond
	step := func() bool {
		next, ok := b.world.Next()
		return ok && next <= end && b.world.Step()
	}
	for quiet := 0; quiet < 20; {
		n := b.a.Poll(out[:])
		b.got = append(b.got, out[:n]...)
		k := b.b.Poll(out[:])
		b.got = append(b.got, out[:k]...)
		if n+k == 0 && !step() {
			quiet++
		}
	}
	var rest []nic.Event
	for _, ev := range b.got {
		if ev.Cookie == cookie {
			mine = append(mine, ev)
		} else {
			rest = append(rest, ev)
		}
	}
	b.got = rest
	return mine
}

func (b *bench) connect() {
	require.NoError(b, b.pa.Connect("b", nil, time.Second))
	request := b.run(nil)
	require.NoError(b, b.b.Accept(request[0].Conn.Request, b.pb))
	require.Equal(b, nic.EventConnected, b.run("a")[0].Kind)
	require.Equal(b, nic.EventConnected, b.run("b")[0].Kind)
}

func (b *bench) recv() *nic.Descriptor {
	d := &nic.Descriptor{Op: nic.OpRecv, Segments: []nic.Segment{{Data: b.mem, Handle: b.handle}}}
	require.NoError(b, b.pb.PostRecv(d))
	return d
}

func send(text string) *nic.Descriptor {
	return &nic.Descriptor{Segments: []nic.Segment{{Data: []byte(text)}}}
}

func TestCallsFail(t *testing.T) {
	w := simnic.New(sim.New(sim.Options{}), simnic.Options{})
	_, err := Wrap(w, Options{Script: []Rule{{At: OnOpen, Kind: Fail}}}).Open(nic.Config{Listen: "x"})
	require.ErrorIs(t, err, ErrInjected)

	b := newBench(t, nic.ReliableDelivery, Options{Script: []Rule{
		{At: OnRegister, Nth: 2, Kind: Fail},
		{At: OnOpenPort, Nth: 2, Kind: Fail},
		{At: OnConnect, Nth: 1, Kind: Fail},
		{At: OnAccept, Nth: 1, Kind: Fail},
		{At: OnPostSend, Nth: 1, Kind: Fail},
		{At: OnPostSend, Nth: 2, Kind: Again},
		{At: OnPostRecv, Nth: 1, Kind: Again},
	}})
	h, err := b.a.Register(make([]byte, 8), 0, 1)
	require.NoError(t, err)
	require.NoError(t, b.a.Deregister(h))
	_, err = b.a.Register(make([]byte, 8), 0, 1)
	require.ErrorIs(t, err, ErrInjected)
	_, err = b.a.OpenPort(nic.PortAttrs{RecvDepth: 1, SendDepth: 1}, nil)
	require.ErrorIs(t, err, ErrInjected)
	require.ErrorIs(t, b.pa.Connect("b", nil, 0), ErrInjected)
	require.ErrorIs(t, b.pa.PostRecv(&nic.Descriptor{Op: nic.OpRecv}), nic.ErrAgain)

	require.NoError(t, b.pb.Connect("a", nil, 0))
	request := b.run(nil)[0].Conn.Request
	require.ErrorIs(t, b.a.Accept(request, b.pa), ErrInjected)
	require.NoError(t, b.a.Accept(request, b.pa), "the request is still there")
	require.Equal(t, nic.EventConnected, b.run("a")[0].Kind)
	b.recv()
	_, err = b.pa.PostSend(send("x"))
	require.ErrorIs(t, err, ErrInjected)
	_, err = b.pa.PostSend(send("x"))
	require.ErrorIs(t, err, nic.ErrAgain)
	_, err = b.pa.PostSend(send("x"))
	require.NoError(t, err)
	assert.Len(t, b.run("b"), 2, "connected, and one message")
}

func TestRefuse(t *testing.T) {
	b := newBench(t, nic.ReliableDelivery, Options{Script: []Rule{{At: OnConnect, Nth: 1, Kind: Refuse}, {At: OnConnect, Nth: 2, Kind: Refuse}}})
	require.NoError(t, b.pa.Connect("b", nil, 0))
	ev := b.run("a")
	require.Len(t, ev, 1)
	assert.Equal(t, nic.EventConnectFailed, ev[0].Kind)
	var reject *nic.RejectError
	require.ErrorAs(t, ev[0].Conn.Err, &reject)
	require.ErrorIs(t, ev[0].Conn.Err, ErrInjected)

	require.NoError(t, b.pa.Connect("b", nil, 0))
	b.pa.Disconnect() // before it learns of the refusal
	ev = b.run("a")
	require.Len(t, ev, 1)
	assert.Equal(t, nic.EventConnectFailed, ev[0].Kind)
	b.connect()
}

// TestDisconnectOfARefusedAttemptFlushes: the receives come back although the
// refusal was made up and the wrapped port knows of no attempt.
func TestDisconnectOfARefusedAttemptFlushes(t *testing.T) {
	b := newBench(t, nic.ReliableDelivery, Options{Script: []Rule{{At: OnConnect, Nth: 1, Kind: Refuse}}})
	d := &nic.Descriptor{Op: nic.OpRecv, Flags: nic.FlagLoan}
	require.NoError(t, b.pa.PostRecv(d))
	require.NoError(t, b.pa.Connect("b", nil, 0))
	b.pa.Disconnect()
	ev := b.run("a")
	require.Len(t, ev, 3)
	assert.Equal(t, nic.EventConnectFailed, ev[0].Kind)
	assert.Same(t, d, ev[1].Desc)
	assert.Equal(t, nic.StatusFlushed, d.Status)
	assert.Equal(t, nic.EventDisconnected, ev[2].Kind)
	require.NoError(t, ev[2].Conn.Err)
}

func TestBreak(t *testing.T) {
	for _, at := range []Point{OnPostSend, OnPostRecv} {
		b := newBench(t, nic.ReliableDelivery, Options{Script: []Rule{{At: at, Nth: 1, Kind: Break}}})
		b.connect()
		r := b.recv()
		if at == OnPostSend {
			_, err := b.pa.PostSend(send("x"))
			require.ErrorIs(t, err, nic.ErrNotConnected)
		} else {
			require.ErrorIs(t, b.pa.PostRecv(&nic.Descriptor{Op: nic.OpRecv}), nic.ErrNotConnected)
		}
		ev := b.run("a")
		require.Len(t, ev, 1)
		assert.Equal(t, nic.EventDisconnected, ev[0].Kind)
		require.ErrorIs(t, ev[0].Conn.Err, ErrInjected)
		ev = b.run("b")
		assert.Equal(t, nic.StatusFlushed, r.Status)
		assert.Equal(t, nic.EventDisconnected, ev[1].Kind)
	}
}

func TestCompletionsFail(t *testing.T) {
	b := newBench(t, nic.ReliableDelivery, Options{Script: []Rule{{At: OnSendEvent, Nth: 2, Kind: Fail}}})
	b.connect()
	b.recv()
	b.recv()
	first, second, third := send("1"), send("2"), send("3")
	for _, d := range []*nic.Descriptor{first, second} {
		_, err := b.pa.PostSend(d)
		require.NoError(t, err)
	}
	ev := b.run("a")
	assert.Equal(t, nic.StatusSuccess, first.Status)
	assert.Equal(t, nic.StatusTransportError, second.Status)
	last := ev[len(ev)-1]
	assert.Equal(t, nic.EventDisconnected, last.Kind, "an error breaks the connection")
	require.ErrorIs(t, last.Conn.Err, ErrInjected)
	_, err := b.pa.PostSend(third)
	require.ErrorIs(t, err, nic.ErrNotConnected)

	b = newBench(t, nic.ReliableDelivery, Options{Script: []Rule{{At: OnRecvEvent, Nth: 1, Kind: Fail}}})
	b.connect()
	h, err := b.a.Register(make([]byte, 64), 0, 1)
	require.NoError(t, err)
	require.NoError(t, b.a.Deregister(h))
	d := &nic.Descriptor{Op: nic.OpRecv, Flags: nic.FlagLoan}
	require.NoError(t, b.pa.PostRecv(d))
	_, err = b.pb.PostSend(send("x"))
	require.NoError(t, err)
	ev = b.run("a")
	assert.Equal(t, nic.StatusTransportError, d.Status)
	assert.Equal(t, nic.EventDisconnected, ev[len(ev)-1].Kind)
}

// TestNothingFollowsALostMessage: a consumer must not see a gap.
func TestNothingFollowsALostMessage(t *testing.T) {
	b := newBench(t, nic.ReliableDelivery, Options{Script: []Rule{{At: OnRecvEvent, Nth: 2, Kind: Fail}}})
	b.connect()
	var got []*nic.Descriptor
	for range 4 {
		d := &nic.Descriptor{Op: nic.OpRecv, Flags: nic.FlagLoan}
		got = append(got, d)
		require.NoError(t, b.pa.PostRecv(d))
		_, err := b.pb.PostSend(send("x"))
		require.NoError(t, err)
	}
	b.world.RunFor(time.Millisecond) // all four have arrived before the first is looked at
	b.run("a")
	want := []nic.Status{nic.StatusSuccess, nic.StatusTransportError, nic.StatusFlushed, nic.StatusFlushed}
	for i, d := range got {
		assert.Equal(t, want[i], d.Status, "receive %d", i)
	}
}

func TestDelayKeepsTheOrderOfAPort(t *testing.T) {
	b := newBench(t, nic.ReliableDelivery, Options{Script: []Rule{{At: OnSendEvent, Nth: 1, Kind: Delay}}})
	b.connect()
	var posted []*nic.Descriptor
	for i := range 4 {
		b.recv()
		d := send(fmt.Sprint(i))
		posted = append(posted, d)
		_, err := b.pa.PostSend(d)
		require.NoError(t, err)
	}
	b.world.RunFor(time.Millisecond)
	b.pa.Disconnect()
	inside := b.a.(interface{ Unwrap() nic.Device }).Unwrap().(*Device)
	for range 3 {
		b.world.RunFor(time.Millisecond)
		assert.Zero(t, b.a.Poll(make([]nic.Event, 8)), "held back")
	}
	_, ok := inside.NextDeadline()
	assert.True(t, ok, "somebody must poll")
	assert.Equal(t, uint64(1), inside.Injected(Delay))
	ev := b.run("a")
	require.Len(t, ev, 5)
	for i, d := range posted {
		assert.Same(t, d, ev[i].Desc)
	}
	assert.Equal(t, nic.EventDisconnected, ev[4].Kind)
	require.NoError(t, ev[4].Conn.Err)
}

func TestDropOnlyOnUnreliablePorts(t *testing.T) {
	for _, reliability := range []nic.Reliability{nic.Unreliable, nic.ReliableDelivery} {
		b := newBench(t, reliability, Options{Script: []Rule{{At: OnPostSend, Nth: 1, Kind: Drop}, {At: OnRecvEvent, Nth: 1, Kind: Drop}}})
		b.connect()
		r := b.recv()
		b.recv()
		for _, text := range []string{"1", "2"} {
			d := send(text)
			_, err := b.pa.PostSend(d)
			require.NoError(t, err)
		}
		want := map[nic.Reliability]string{nic.Unreliable: "2", nic.ReliableDelivery: "1"}
		ev := b.run("b")
		require.Same(t, r, ev[0].Desc)
		if reliability == nic.Unreliable {
			assert.Len(t, ev, 1)
			assert.Equal(t, want[reliability], string(b.mem[:1]))
		} else {
			assert.Len(t, ev, 2)
		}

		in := &nic.Descriptor{Op: nic.OpRecv, Flags: nic.FlagLoan}
		require.NoError(t, b.pa.PostRecv(in))
		_, err := b.pb.PostSend(send("3"))
		require.NoError(t, err)
		b.run("a")
		if reliability == nic.Unreliable {
			assert.Equal(t, nic.StatusPending, in.Status, "dropped, and posted again")
			_, err = b.pb.PostSend(send("4"))
			require.NoError(t, err)
			b.run("a")
			assert.Equal(t, "4", string(in.Data))
		} else {
			assert.Equal(t, "3", string(in.Data))
		}
	}
}

// TestEverythingAtOnce: with any faults, every descriptor comes back once and the
// connection ends once.
func TestEverythingAtOnce(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 9))
		b := newBench(t, nic.ReliableDelivery, Options{Rand: rng, Chances: Chances{Again: 0.2, FailCompletion: 0.01, Delay: 0.3, Break: 0.02, FailCall: 0}})
		b.connect()
		var back sim.ExactlyOnce[*nic.Descriptor]
		var ended bool
		for round := 0; round < 300 && !ended; round++ {
			d := send("payload")
			r := &nic.Descriptor{Op: nic.OpRecv, Segments: []nic.Segment{{Data: b.mem, Handle: b.handle}}}
			if b.pb.PostRecv(r) != nil {
				break
			}
			if done, err := b.pa.PostSend(d); err == nil && !done {
				back.Sent(d)
			}
			if rng.IntN(3) == 0 {
				ended = collect(t, b, &back)
			}
		}
		if !ended {
			b.pa.Disconnect()
			require.True(t, collect(t, b, &back))
		}
		require.NoError(t, back.Check())
	})
}

func collect(t *testing.T, b *bench, back *sim.ExactlyOnce[*nic.Descriptor]) (ended bool) {
	for _, ev := range b.run("a") {
		assert.False(t, ended, "nothing comes after the end")
		switch ev.Kind {
		case nic.EventSend:
			require.NoError(t, back.Delivered(ev.Desc))
		case nic.EventDisconnected:
			ended = true
		}
	}
	return ended
}

func TestPlans(t *testing.T) {
	o := Options{Rand: rand.New(rand.NewPCG(1, 1)), Chances: Chances{Again: 1, FailCall: 1, FailCompletion: 1, Delay: 1, Break: 1, Refuse: 1, Drop: 1}}
	for point, kinds := range possible {
		p := &plan{opts: &o}
		got := p.at(Point(point), true)
		if Point(point) != OnOpen {
			assert.Contains(t, kinds, got, "point %d", point)
		}
	}
	p := &plan{opts: &Options{Script: []Rule{{At: OnPostSend, Kind: Again}}}}
	assert.Equal(t, Again, p.at(OnPostSend, false))
	assert.Equal(t, Again, p.at(OnPostSend, false), "a rule without a number fits every time")
	assert.Equal(t, None, p.at(OnPostRecv, false))
	assert.Equal(t, DelayPollsDefault, p.delay())
}

// TestSleeperStaysAwakeForWhatIsHeldBack: only polls bring delayed events out.
func TestSleeperStaysAwakeForWhatIsHeldBack(t *testing.T) {
	w := simnic.New(sim.New(sim.Options{}), simnic.Options{Mode: simnic.Real})
	dev, err := Wrap(w, Options{Script: []Rule{{At: OnConnect, Kind: Refuse}, {At: OnPostRecv, Nth: 1, Kind: Again}}}).Open(nic.Config{Listen: "x", Clock: w.Clock})
	require.NoError(t, err)
	s := dev.(nic.Sleeper)
	assert.True(t, s.Arm())
	s.Disarm()
	p, err := dev.OpenPort(nic.PortAttrs{RecvDepth: 1, SendDepth: 1}, 1)
	require.NoError(t, err)
	require.NoError(t, p.Connect("y", nil, 0))
	assert.False(t, s.Arm())
	s.Sleep(-1) // returns at once
	assert.Equal(t, 1, dev.Poll(make([]nic.Event, 4)))
	assert.True(t, s.Arm())
	require.ErrorIs(t, p.PostRecv(&nic.Descriptor{Op: nic.OpRecv}), nic.ErrAgain)
	s.Sleep(-1)
	assert.False(t, s.Arm(), "nothing but a poll goes on from a post that was turned away")
	assert.Zero(t, dev.Poll(make([]nic.Event, 4)))
	assert.True(t, s.Arm())
	require.NoError(t, p.Close())
	require.NoError(t, dev.Close())
}
