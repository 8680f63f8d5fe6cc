//go:build linux

package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// side is one end of a connection between two stacks.
type side struct {
	s      *Stack
	c      stack.Stream
	bufs   [1][]byte
	events [16]stack.Event
}

// sides connects two stacks.
func sides(t testing.TB) (a, b *side) {
	a, b = &side{s: open(t, Options{})}, &side{s: open(t, Options{})}
	l, err := b.s.Listen(loopback4, 1)
	require.NoError(t, err)
	a.c, err = a.s.Dial(l.Addr(), 2)
	require.NoError(t, err)
	for a.c.Connected() != nil {
		continue
	}
	for b.c == nil {
		b.c, _ = l.Accept(3)
	}
	a.bufs[0], b.bufs[0] = make([]byte, 64), make([]byte, 64)
	return a, b
}

// wait takes one message; waits as rest does.
func (x *side) wait(rest func(*side)) {
	for {
		x.s.Poll(x.events[:])
		if n, _ := x.c.Recv(x.bufs[:]); n > 0 {
			return
		}
		rest(x)
	}
}

func (x *side) park() {
	if x.s.Arm() {
		x.s.Sleep(-1)
	}
	x.s.Disarm()
}

// block is the simple alternative to parking: it holds an OS thread, and takes
// the events.
func (x *side) block() {
	var events [1]unix.EpollEvent
	_, _ = unix.EpollWait(x.s.epfd, events[:], -1)
}

func benchmarkPingPong(b *testing.B, rest func(*side)) {
	x, y := sides(b)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range b.N {
			y.wait(rest)
			_, _ = y.c.Send(y.bufs[:])
		}
	}()
	b.ReportAllocs()
	for range b.N {
		_, _ = x.c.Send(x.bufs[:])
		x.wait(rest)
	}
	<-done
}

func BenchmarkPingPongAsleep(b *testing.B)  { benchmarkPingPong(b, (*side).park) }
func BenchmarkPingPongBlocked(b *testing.B) { benchmarkPingPong(b, (*side).block) }

// BenchmarkPollNothing is the cost for a spinning caller.
func BenchmarkPollNothing(b *testing.B) {
	x, _ := sides(b)
	for b.Loop() {
		x.s.Poll(x.events[:])
	}
}

// BenchmarkSendRecv moves a message without waiting.
func BenchmarkSendRecv(b *testing.B) {
	x, y := sides(b)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = x.c.Send(x.bufs[:])
		for n := 0; n == 0; {
			n, _ = y.c.Recv(y.bufs[:])
		}
	}
}
