package simstack

import (
	"errors"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	addrA   = netip.MustParseAddr("10.0.0.1")
	addrB   = netip.MustParseAddr("10.0.0.2")
	nowhere = netip.MustParseAddr("10.9.9.9")
)

// A net is a network with owners that follow the seam: they try nothing without
// an event, and continue until ErrAgain.
type net struct {
	*testing.T
	world  *sim.World
	n      *Network
	owners []*owner
}

// An owner has one stack.
type owner struct {
	net   *net
	stack stack.Stack
	last  stack.Token
	ends  map[stack.Token]*end
}

// An end is a stream or a listener, with the calls that its owner may try.
type end struct {
	o        *owner
	t        stack.Token
	stream   stack.Stream
	listener stack.Listener
	may      stack.Ready
	hangup   bool
}

func newNet(t *testing.T, seed uint64, link sim.LinkOptions, opts Options) *net {
	w := sim.New(sim.Options{Seed: seed, Link: link})
	return &net{T: t, world: w, n: New(w, opts)}
}

func (n *net) open(at netip.Addr) *owner {
	o := &owner{net: n, stack: n.n.Host(at).Open(), ends: make(map[stack.Token]*end)}
	n.owners = append(n.owners, o)
	return o
}

func (n *net) poll() {
	for _, o := range n.owners {
		var events [3]stack.Event
		for _, ev := range events[:o.stack.Poll(events[:])] {
			e := o.ends[ev.Token]
			require.NotNil(n, e, "an event for nothing that is open: %+v", ev)
			e.may |= ev.Ready
			e.hangup = e.hangup || ev.Ready&stack.Hangup != 0
		}
	}
}

// until runs the world until a condition holds.
func (n *net) until(what string, done func() bool) {
	n.Helper()
	require.NoError(n, n.world.RunUntil(func() bool {
		n.poll()
		if _, more := n.world.Next(); !more {
			n.world.RunFor(10 * time.Microsecond) // a sender may wait for room
		}
		return done()
	}), what)
}

// pass lets time pass.
func (n *net) pass(d time.Duration) {
	for until := n.world.Now() + d; n.world.Now() < until; n.poll() {
		if next, ok := n.world.Next(); !ok || next > until {
			n.world.AdvanceTo(until)
		} else {
			n.world.Step()
		}
	}
}

func (o *owner) keep(e *end) *end {
	e.o, e.t = o, o.last
	o.ends[o.last] = e
	return e
}

func (o *owner) token() stack.Token {
	o.last++
	return o.last
}

func (o *owner) listen(at string) *end {
	o.net.Helper()
	l, err := o.stack.Listen(netip.MustParseAddrPort(at), o.token())
	require.NoError(o.net, err)
	return o.keep(&end{listener: l})
}

func (o *owner) dial(to netip.AddrPort) *end {
	o.net.Helper()
	s, err := o.stack.Dial(to, o.token())
	require.NoError(o.net, err)
	return o.keep(&end{stream: s})
}

func (e *end) accept() *end {
	if e.may&stack.Readable == 0 {
		return nil
	}
	s, err := e.listener.Accept(e.o.token())
	switch {
	case errors.Is(err, stack.ErrAgain):
		e.may = 0
		return nil
	case errors.Is(err, stack.ErrExhausted):
		return nil
	}
	require.NoError(e.o.net, err)
	return e.o.keep(&end{stream: s})
}

// connect joins a to a listener of b.
func (n *net) connect() (a, b *end) {
	n.Helper()
	l := n.open(addrB).listen("10.0.0.2:3334")
	a = n.open(addrA).dial(l.listener.Addr())
	n.join(a, l, &b)
	return a, b
}

func (n *net) join(a, l *end, b **end) {
	n.Helper()
	n.until("connected", func() bool {
		if *b == nil {
			*b = l.accept()
		}
		return *b != nil && a.connected() == nil && (*b).connected() == nil
	})
}

// connected is Connected, once an event allows to ask.
func (e *end) connected() error {
	if e.may&stack.Writable == 0 {
		return stack.ErrAgain
	}
	return e.stream.Connected()
}

func (e *end) recv(p []byte) (int, error) {
	if e.may&stack.Readable == 0 {
		return 0, stack.ErrAgain
	}
	n, err := e.stream.Recv([][]byte{p[:len(p)/2], p[len(p)/2:]})
	if errors.Is(err, stack.ErrAgain) {
		e.may &^= stack.Readable
	}
	return n, err
}

func (e *end) send(p []byte) (int, error) {
	if e.may&stack.Writable == 0 {
		return 0, stack.ErrAgain
	}
	n, err := e.stream.Send([][]byte{p[:len(p)/2], p[len(p)/2:]})
	if errors.Is(err, stack.ErrAgain) {
		e.may &^= stack.Writable
	}
	return n, err
}

// sendAll sends all of p.
func (n *net) sendAll(e *end, p []byte) {
	n.Helper()
	n.until("sent", func() bool {
		k, err := e.send(p)
		if !errors.Is(err, stack.ErrAgain) {
			require.NoError(n, err)
		}
		p = p[k:]
		return len(p) == 0
	})
}

// rest receives until the stream ends, and returns how it ended.
func (n *net) rest(e *end) (all []byte, end error) {
	n.Helper()
	buf := make([]byte, 1000)
	n.until("the end of the stream", func() bool {
		k, err := e.recv(buf)
		all = append(all, buf[:k]...)
		if err != nil && !errors.Is(err, stack.ErrAgain) {
			end = err
		}
		return end != nil
	})
	return all, end
}

// broken waits until an end is broken, and returns the reason.
func (n *net) broken(e *end) (err error) {
	n.Helper()
	_, err = n.rest(e)
	require.NotErrorIs(n, err, io.EOF)
	require.True(n, e.hangup, "an event says so, whoever receives")
	_, again := e.stream.Send([][]byte{{1}})
	require.Error(n, again)
	return err
}

func (e *end) close() {
	delete(e.o.ends, e.t)
	e.stream.Close()
}

// pattern is the byte at a place of a stream.
func pattern(salt uint64, at int) byte {
	x := (uint64(at) + salt<<32) * 0x9e3779b97f4a7c15
	return byte(x >> 56)
}
