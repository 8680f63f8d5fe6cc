package tcp_test

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/kernel"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// tapped is the method over a tap, for addresses tcptap://HOST:PORT.
const tapped = "tcptap"

func init() {
	bmi.Register(tcp.DriverOver(tapped, func(tcp.Options) (stack.Stack, error) {
		s, err := kernel.Open(kernel.Options{})
		if err != nil {
			return nil, err
		}
		return &tap{Stack: s, crashed: make(chan struct{})}, nil
	}))
}

// A tap is a stack of the kernel's sockets that counts calls and can be made to
// crash.
type tap struct {
	*kernel.Stack
	crash   atomic.Bool
	crashed chan struct{} // closed when it has

	polls, events, recvs, sends atomic.Int64
}

// taps are the latest ones by the address that they listen at.
var taps sync.Map

func tapOf(e *bmi.Endpoint) *tap {
	t, _ := taps.Load(hostPortOf(tapped, e.Addresses()[0]))
	return t.(*tap)
}

func (t *tap) Listen(at netip.AddrPort, token stack.Token) (stack.Listener, error) {
	l, err := t.Stack.Listen(at, token)
	if err != nil {
		return nil, err
	}
	taps.Store(l.Addr().String(), t)
	return tapListener{l, t}, nil
}

func (t *tap) Dial(to netip.AddrPort, token stack.Token) (stack.Stream, error) {
	s, err := t.Stack.Dial(to, token)
	if err != nil {
		return nil, err
	}
	return tapStream{s, t}, nil
}

// Poll counts. Crashes happen here, because no other call is running then.
func (t *tap) Poll(events []stack.Event) int {
	if t.crash.Load() {
		select {
		case <-t.crashed:
		default:
			// As when a process ends, the kernel closes all descriptors.
			_ = t.Stack.Close()
			close(t.crashed)
		}
		return 0
	}
	n := t.Stack.Poll(events)
	t.polls.Add(1)
	t.events.Add(int64(n))
	return n
}

type tapListener struct {
	stack.Listener
	t *tap
}

func (l tapListener) Accept(token stack.Token) (stack.Stream, error) {
	s, err := l.Listener.Accept(token)
	if err != nil {
		return nil, err
	}
	return tapStream{s, l.t}, nil
}

type tapStream struct {
	stack.Stream
	t *tap
}

func (s tapStream) Recv(bufs [][]byte) (int, error) {
	s.t.recvs.Add(1)
	return s.Stream.Recv(bufs)
}

func (s tapStream) Send(bufs [][]byte) (int, error) {
	s.t.sends.Add(1)
	return s.Stream.Send(bufs)
}

// SendFile implements stack.FileSender.
func (t *tap) SendFile(to stack.Stream, head [][]byte, part stack.FileRange) (int, error) {
	t.sends.Add(1)
	return t.Stack.SendFile(to.(tapStream).Stream, head, part)
}

// crash ends an endpoint of scheme tapped as kill -9 would, as far as others can see.
func crash(t methodtest.T, e *bmi.Endpoint) {
	t.Helper()
	tap := tapOf(e)
	tap.crash.Store(true)
	tap.Wake()
	select {
	case <-tap.crashed:
	case <-time.After(patience):
		require.Fail(t, "the endpoint did not poll")
	}
	require.NoError(t, e.Close()) // nothing of it reaches a peer
}
