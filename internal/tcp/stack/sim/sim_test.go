package simstack

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/stacktest"
)

var microsecond = sim.LinkOptions{DelayMin: time.Microsecond}

// TestContract runs the suite of all stacks. The suite expects that connections
// are accepted in the order of dialling, and always, and that finally nothing
// happens any more. That holds only without some of the faults.
func TestContract(t *testing.T) {
	sim.RunAtMost(t, 50, func(t *testing.T, seed uint64) {
		stacktest.Run(t, func(*testing.T) *stacktest.Subject {
			opts := RandomOptions(rand.New(rand.NewPCG(seed, 1)))
			opts.ConnectLoss, opts.AcceptDelayMax, opts.Exhausted, opts.Backlog = 0, 0, 0, 0
			opts.LoseOnClose, opts.Spurious = 0, 0
			opts.SegmentBytesMax = max(opts.SegmentBytesMax, 9000) // it moves many bytes
			opts.SendBytesMax, opts.RecvBytesMax = max(opts.SendBytesMax, 4096), max(opts.RecvBytesMax, 4096)
			w := sim.New(sim.Options{Seed: seed, Link: microsecond})
			n := New(w, opts)
			last := addrA
			return &stacktest.Subject{
				Open:      func() stack.Stack { last = last.Next(); return n.Host(last).Open() },
				Addr:      func(s stack.Stack) netip.AddrPort { return netip.AddrPortFrom(s.(*Stack).host.addr, 0) },
				Step:      func() { w.RunFor(20 * time.Microsecond) },
				Allocates: true,
			}
		})
	})
}

// TestBytesArrive moves bytes in both directions over networks of every kind,
// with owners that wait for events: after a lost edge it would never end.
func TestBytesArrive(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n := newNet(t, seed, sim.RandomLink(rng), RandomOptions(rng))
		n.n.opts.LoseOnClose = 0
		a, b := n.connect()
		out := [2]int{rng.IntN(5000), rng.IntN(5000)}
		in := [2]int{}
		var ended [2]bool
		sent := [2]int{}
		n.until("everything arrived", func() bool {
			for i, e := range []*end{a, b} {
				if sent[i] <= out[i] {
					sent[i] += sendSome(n, e, i, sent[i], out[i])
				}
				in[i] += recvSome(n, e, 1-i, in[i], &ended[i])
			}
			return ended[0] && ended[1]
		})
		assert.Equal(t, out, [2]int{in[1], in[0]})
		n.pass(time.Second)
		assert.True(t, a.stream.Delivered() && b.stream.Delivered())
		a.close()
		b.close()
		n.pass(time.Second)
		assert.Zero(t, n.n.Streams(addrA, addrB))
	})
}

// sendSome sends the next bytes of a stream, and its end once (which counts 1).
func sendSome(n *net, e *end, salt, at, until int) int {
	if at == until {
		require.NoError(n, e.stream.Finish())
		return 1
	}
	buf := make([]byte, min(1+n.world.Rand().IntN(300), until-at))
	for i := range buf {
		buf[i] = pattern(uint64(salt), at+i)
	}
	k, err := e.send(buf)
	if !errors.Is(err, stack.ErrAgain) {
		require.NoError(n, err)
	}
	return k
}

func recvSome(n *net, e *end, salt, at int, ended *bool) int {
	buf := make([]byte, 1+n.world.Rand().IntN(300))
	k, err := e.recv(buf)
	for i := range buf[:k] {
		require.Equal(n, pattern(uint64(salt), at+i), buf[i], "byte %d", at+i)
	}
	switch {
	case errors.Is(err, io.EOF):
		*ended = true
	case !errors.Is(err, stack.ErrAgain):
		require.NoError(n, err)
	}
	return k
}

// transcript is everything that happens to a few streams, crashes and partitions.
func transcript(t *testing.T, seed uint64) string {
	var s strings.Builder
	rng := rand.New(rand.NewPCG(seed, 3))
	opts := RandomOptions(rng)
	opts.Reset, opts.Corrupt = 0.01, 0.1
	opts.Trace = func(line string) { fmt.Fprintln(&s, line) }
	n := newNet(t, seed, sim.RandomLink(rng), opts)
	l := n.open(addrB).listen("10.0.0.2:3334")
	dialler := n.open(addrA)
	var ends []*end
	buf := make([]byte, 100)
	for range 300 {
		switch k := rng.IntN(20); {
		case k == 0:
			ends = append(ends, dialler.dial(l.listener.Addr()))
		case k == 1:
			n.n.Cut(addrA, addrB)
		case k < 4:
			n.n.Heal(addrA, addrB)
		case k == 4 && rng.IntN(10) == 0:
			n.n.Reset(addrA, addrB)
		case len(ends) > 0:
			e := ends[rng.IntN(len(ends))]
			sent, errSend := e.stream.Send([][]byte{buf})
			got, errRecv := e.stream.Recv([][]byte{buf})
			fmt.Fprintln(&s, sent, errSend, got, errRecv)
		}
		n.pass(time.Duration(rng.Int64N(int64(time.Millisecond))))
		if e := l.accept(); e != nil {
			ends = append(ends, e)
		}
	}
	n.n.Host(addrB).Crash(Vanished)
	n.pass(3 * time.Second)
	return s.String()
}

func TestASeedReplaysExactly(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		assert.Equal(t, transcript(t, seed), transcript(t, seed))
		assert.NotEqual(t, transcript(t, seed), transcript(t, seed+1000))
	})
}

func TestConnectsThatFail(t *testing.T) {
	n := newNet(t, 1, microsecond, Options{ConnectTimeout: time.Second})
	a := n.open(addrA)
	n.open(addrB)
	refused := a.dial(netip.AddrPortFrom(addrB, 1))
	silent := a.dial(netip.AddrPortFrom(nowhere, 1))
	n.until("refused", func() bool { return refused.may&stack.Writable != 0 })
	require.ErrorIs(t, refused.stream.Connected(), stack.ErrRefused)
	require.ErrorIs(t, silent.stream.Connected(), stack.ErrAgain)
	_, err := silent.stream.Send([][]byte{{1}})
	require.ErrorIs(t, err, stack.ErrAgain)
	n.until("given up", func() bool { return silent.may&stack.Writable != 0 })
	require.ErrorIs(t, silent.stream.Connected(), syscall.ETIMEDOUT)
	assert.InDelta(t, time.Second, n.world.Now(), float64(time.Millisecond))

	later := a.dial(netip.MustParseAddrPort("10.0.0.2:3334"))
	n.n.Host(addrB).Crash(Vanished)
	n.pass(500 * time.Millisecond)
	require.ErrorIs(t, later.stream.Connected(), stack.ErrAgain, "a host that is gone does not answer")
	n.open(addrB).listen("0.0.0.0:3334")
	n.until("connected", func() bool { return later.may&stack.Writable != 0 })
	require.NoError(t, later.stream.Connected())
}

func TestAddresses(t *testing.T) {
	n := newNet(t, 1, microsecond, Options{})
	a, b := n.open(addrA), n.open(addrA)
	l := a.listen("10.0.0.1:0")
	assert.NotZero(t, l.listener.Addr().Port())
	_, err := b.stack.Listen(l.listener.Addr(), 1)
	require.ErrorIs(t, err, stack.ErrInUse)
	_, err = b.stack.Listen(netip.AddrPortFrom(netip.IPv4Unspecified(), l.listener.Addr().Port()), 1)
	require.ErrorIs(t, err, stack.ErrInUse)
	_, err = b.stack.Listen(netip.MustParseAddrPort("10.0.0.2:1"), 1)
	require.Error(t, err, "not this host's")
	own := b.listen("127.0.0.1:7")
	var x *end
	n.join(a.dial(own.listener.Addr()), own, &x)
	require.NoError(t, a.stack.Close())
	b.listen("0.0.0.0:" + fmt.Sprint(l.listener.Addr().Port()))
}

// TestBackPressure: a side that does not receive stops the sender after both
// buffers are full.
func TestBackPressure(t *testing.T) {
	n := newNet(t, 1, microsecond, Options{SegmentBytesMax: 10, SendBytesMax: 100, RecvBytesMax: 50})
	a, b := n.connect()
	sent := 0
	for range 1000 {
		k, _ := a.send(make([]byte, 1000))
		sent += k
		n.pass(10 * time.Microsecond)
	}
	assert.Equal(t, 150, sent)
	assert.False(t, a.stream.Delivered())
	got := 0
	n.until("both buffers are empty", func() bool {
		k, _ := b.recv(make([]byte, 7))
		got += k
		return got == 150
	})
	n.until("room again", func() bool { return a.may&stack.Writable != 0 && a.stream.Delivered() })
}

func TestReset(t *testing.T) {
	n := newNet(t, 1, microsecond, Options{})
	a, b := n.connect()
	n.sendAll(a, []byte("hello"))
	n.pass(time.Millisecond)
	n.n.Reset(addrA, addrB)
	require.ErrorIs(t, n.broken(a), syscall.ECONNRESET)
	got, err := n.rest(b)
	assert.Equal(t, "hello", string(got), "what arrived before can be received")
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestCrashes(t *testing.T) {
	for _, c := range []struct {
		how  Ending
		keep time.Duration
		back bool
		want error
	}{
		{Killed, 0, false, syscall.ECONNRESET},
		{Vanished, 0, false, syscall.ETIMEDOUT},
		{Vanished, 0, true, syscall.ECONNRESET},
		{Vanished, -1, false, nil},
	} {
		t.Run(fmt.Sprint(c.how, c.back, c.want), func(t *testing.T) {
			n := newNet(t, 1, microsecond, Options{KeepAlive: c.keep})
			a, b := n.connect()
			n.n.Host(addrB).Crash(c.how)
			_, err := b.stream.Recv([][]byte{make([]byte, 1)})
			require.Error(t, err)
			n.owners = n.owners[1:]
			if c.back {
				n.open(addrB)
			}
			if c.want == nil {
				n.sendAll(a, []byte("into the void"))
				n.pass(time.Minute)
				assert.False(t, a.hangup, "half open for ever")
				assert.False(t, a.stream.Delivered())
				return
			}
			require.ErrorIs(t, n.broken(a), c.want)
			if c.how == Vanished {
				assert.GreaterOrEqual(t, n.world.Now(), n.n.opts.KeepAlive)
			}
		})
	}
}

// TestSendingToAHostThatCameBack is quicker than the keep-alive.
func TestSendingToAHostThatCameBack(t *testing.T) {
	n := newNet(t, 1, microsecond, Options{})
	a, _ := n.connect()
	n.n.Host(addrB).Crash(Vanished)
	n.owners = n.owners[1:]
	n.open(addrB)
	n.sendAll(a, []byte("anybody"))
	require.ErrorIs(t, n.broken(a), syscall.ECONNRESET)
	assert.Less(t, n.world.Now(), 10*time.Millisecond)
}

func TestPartitions(t *testing.T) {
	n := newNet(t, 1, microsecond, Options{})
	a, b := n.connect()
	n.n.Cut(addrA, addrB)
	n.sendAll(a, []byte("late"))
	n.pass(900 * time.Millisecond)
	assert.Zero(t, b.may&stack.Readable)
	n.n.Heal(addrA, addrB)
	n.until("what was sent arrives", func() bool { return b.may&stack.Readable != 0 })
	n.pass(10 * time.Second)
	assert.False(t, a.hangup || b.hangup, "a short one only delays")

	n.n.Cut(addrA, addrB)
	require.ErrorIs(t, n.broken(a), syscall.ETIMEDOUT)
	require.ErrorIs(t, n.broken(b), syscall.ETIMEDOUT)
}

func TestEnds(t *testing.T) {
	t.Run("what was sent before Close arrives", func(t *testing.T) {
		n := newNet(t, 1, microsecond, Options{RecvBytesMax: 10, SegmentBytesMax: 3})
		a, b := n.connect()
		n.sendAll(a, make([]byte, 1000))
		a.close()
		got, err := n.rest(b)
		assert.Len(t, got, 1000)
		require.ErrorIs(t, err, io.EOF)
		assert.True(t, b.hangup)
		n.sendAll(b, []byte("too late"))
		require.ErrorIs(t, n.brokenAfterEOF(b), syscall.ECONNRESET)
	})
	t.Run("or is lost", func(t *testing.T) {
		n := newNet(t, 1, microsecond, Options{RecvBytesMax: 10, SegmentBytesMax: 3, LoseOnClose: 1})
		a, b := n.connect()
		n.sendAll(a, make([]byte, 1000))
		a.close()
		got, err := n.rest(b)
		assert.Less(t, len(got), 1000)
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})
	t.Run("bytes that nobody received reset", func(t *testing.T) {
		n := newNet(t, 1, microsecond, Options{})
		a, b := n.connect()
		n.sendAll(a, []byte("unread"))
		n.pass(time.Millisecond)
		b.close()
		require.ErrorIs(t, n.broken(a), syscall.ECONNRESET)
	})
	t.Run("half close", func(t *testing.T) {
		n := newNet(t, 1, microsecond, Options{})
		a, b := n.connect()
		require.NoError(t, a.stream.Finish())
		_, err := n.rest(b)
		require.ErrorIs(t, err, io.EOF)
		n.sendAll(b, []byte("answer"))
		require.NoError(t, b.stream.Finish())
		got, err := n.rest(a)
		assert.Equal(t, "answer", string(got))
		require.ErrorIs(t, err, io.EOF)
		_, err = a.stream.Send([][]byte{{1}})
		require.Error(t, err)
	})
	t.Run("of a listener, before Accept", func(t *testing.T) {
		n := newNet(t, 1, microsecond, Options{})
		l := n.open(addrB).listen("10.0.0.2:3334")
		a := n.open(addrA).dial(l.listener.Addr())
		n.pass(time.Millisecond)
		require.NoError(t, l.listener.Close())
		require.ErrorIs(t, n.broken(a), syscall.ECONNRESET)
	})
}

// brokenAfterEOF waits until sending fails.
func (n *net) brokenAfterEOF(e *end) (err error) {
	n.until("broken", func() bool {
		_, err = e.stream.Send([][]byte{{1}})
		return err != nil && !errors.Is(err, stack.ErrAgain)
	})
	return err
}

func TestFaultsOnRequest(t *testing.T) {
	n := newNet(t, 1, microsecond, Options{Exhausted: 0.9, Corrupt: 1, Spurious: 0.5, SegmentBytesMax: 1})
	l := n.open(addrB).listen("10.0.0.2:3334")
	a := n.open(addrA).dial(l.listener.Addr())
	exhausted := 0
	var b *end
	n.until("accepted", func() bool {
		n.pass(100 * time.Microsecond)
		s, err := l.listener.Accept(100)
		if errors.Is(err, stack.ErrExhausted) {
			exhausted++
		}
		if err != nil {
			return false
		}
		b = &end{o: l.o, t: 100, stream: s}
		l.o.ends[100] = b
		return true
	})
	assert.Positive(t, exhausted)
	n.sendAll(a, make([]byte, 100))
	a.close()
	got, _ := n.rest(b)
	assert.Len(t, got, 100)
	assert.NotContains(t, got, byte(0), "every byte changed")
	spurious := 0
	for range 100 {
		spurious += l.o.stack.Poll(make([]stack.Event, 1))
	}
	assert.Greater(t, spurious, 20)
}
