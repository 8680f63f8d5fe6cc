package tcp_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// A fakeStack does only what the test says, for cases that depend on one order of
// events.
type fakeStack struct {
	events   []stack.Event
	listener *fakeListener
	dialled  []*fakeStream
	dial     func(s *fakeStream) error     // may be nil: connected at once
	refuse   func(at netip.AddrPort) error // may be nil: listening works anywhere
	woken    int
}

type fakeListener struct {
	s       *fakeStack
	token   stack.Token
	at      netip.AddrPort
	waiting []*fakeStream
}

type fakeStream struct {
	s         *fakeStack
	token     stack.Token
	remote    netip.AddrPort
	connected error
	in        []byte
	more      func() []byte // if set, the source of data when in is empty
	inErr     error         // after in
	room      int           // of Send, in bytes; < 0: no limit
	sendErr   error
	out       []byte
	undone    bool // Delivered reports false
	mark      int  // the last of LowWater
	closed    bool
}

func (s *fakeStack) Name() string { return "a fake" }
func (s *fakeStack) Close() error { return nil }

func (s *fakeStack) Listen(at netip.AddrPort, t stack.Token) (stack.Listener, error) {
	if s.refuse != nil {
		if err := s.refuse(at); err != nil {
			return nil, err
		}
	}
	s.listener = &fakeListener{s: s, token: t, at: at}
	return s.listener, nil
}

func (s *fakeStack) Dial(to netip.AddrPort, t stack.Token) (stack.Stream, error) {
	f := &fakeStream{s: s, token: t, remote: to, room: -1}
	s.dialled = append(s.dialled, f)
	if s.dial != nil {
		if err := s.dial(f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (s *fakeStack) Poll(events []stack.Event) int {
	n := copy(events, s.events)
	s.events = s.events[n:]
	return n
}

func (s *fakeStack) Arm() bool           { return len(s.events) == 0 }
func (s *fakeStack) Disarm()             {}
func (s *fakeStack) Sleep(time.Duration) {}
func (s *fakeStack) Wake()               { s.woken++ }

func (l *fakeListener) Accept(t stack.Token) (stack.Stream, error) {
	if len(l.waiting) == 0 {
		return nil, stack.ErrAgain
	}
	f := l.waiting[0]
	l.waiting[0] = nil
	l.waiting = l.waiting[1:]
	f.token = t
	return f, nil
}

func (l *fakeListener) Addr() netip.AddrPort { return l.at }
func (l *fakeListener) Close() error         { return nil }

func (f *fakeStream) tell(r stack.Ready) {
	f.s.events = append(f.s.events, stack.Event{Token: f.token, Ready: r})
}

// arrive makes bytes arrive.
func (f *fakeStream) arrive(b ...byte) {
	f.in = append(f.in, b...)
	f.tell(stack.Readable)
}

// finish makes the end of the stream arrive.
func (f *fakeStream) finish(why error) {
	f.inErr = why
	f.tell(stack.Readable | stack.Writable | stack.Hangup)
}

func (f *fakeStream) Connected() error { return f.connected }

func (f *fakeStream) Recv(bufs [][]byte) (n int, err error) {
	for _, b := range bufs {
		for len(b) > 0 {
			if len(f.in) == 0 && f.more != nil {
				f.in = f.more()
			}
			if len(f.in) == 0 {
				switch {
				case f.inErr == nil:
					return n, stack.ErrAgain
				case n > 0:
					return n, nil
				}
				return 0, f.inErr
			}
			m := copy(b, f.in)
			b, f.in, n = b[m:], f.in[m:], n+m
		}
	}
	return n, nil
}

func (f *fakeStream) Send(bufs [][]byte) (n int, err error) {
	if f.sendErr != nil {
		return 0, f.sendErr
	}
	for _, b := range bufs {
		if f.room >= 0 && len(b) > f.room {
			f.out = append(f.out, b[:f.room]...)
			n, f.room = n+f.room, 0
			return n, stack.ErrAgain
		}
		f.out = append(f.out, b...)
		n += len(b)
		if f.room >= 0 {
			f.room -= len(b)
		}
	}
	return n, nil
}

// SendFile implements stack.FileSender.
func (s *fakeStack) SendFile(to stack.Stream, head [][]byte, part stack.FileRange) (int, error) {
	f, front := to.(*fakeStream), 0
	for _, b := range head {
		front += len(b)
	}
	n, err := f.Send(head)
	if err != nil || n < front {
		return n, err
	}
	buf := make([]byte, part.Len)
	k, err := stack.ReadFile(part, buf)
	if err != nil {
		return n, err
	}
	k, err = f.Send([][]byte{buf[:k]})
	return n + k, err
}

func (f *fakeStream) LowWater(n int)         { f.mark = n }
func (f *fakeStream) Finish() error          { return nil }
func (f *fakeStream) Delivered() bool        { return !f.undone }
func (f *fakeStream) Remote() netip.AddrPort { return f.remote }
func (f *fakeStream) Close()                 { f.closed = true }

// fakeScheme is the method's name over a fakeStack.
const fakeScheme = "tcp+fake"

// fakeDriver opens the method for a fakeNode, which is its option.
type fakeDriver struct{}

func init() { bmi.Register(fakeDriver{}) }

func (fakeDriver) Name() string { return fakeScheme }

func (fakeDriver) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	n := cfg.Options.(*fakeNode)
	cfg.Options = n.opts
	m, err := tcp.DriverOver(fakeScheme, func(tcp.Options) (stack.Stack, error) {
		return &n.stack, nil
	}).Open(ctx, cfg)
	n.method = m
	return m, err
}

// A fakeNode is an endpoint with the method over a fakeStack.
type fakeNode struct {
	*bmi.Endpoint
	t      testing.TB
	opts   tcp.Options
	stack  fakeStack
	method bmi.Method
	ctx    *bmi.Context
	now    time.Duration
	port   uint16
}

func newFakeNode(t testing.TB, opts tcp.Options, limits bmi.Limits) *fakeNode {
	n := &fakeNode{t: t, opts: opts}
	n.opts.Seed = 1
	if opts.Idle == nil {
		n.opts.Idle = func(left time.Duration) { n.now += left }
	}
	e, err := bmi.Open(context.Background(), bmi.Config{
		Listen: []string{fakeScheme + "://127.0.0.1:3334"}, Manual: true, Limits: limits,
		Clock:   func() time.Duration { return n.now },
		Options: map[string]any{fakeScheme: n},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close()) })
	n.Endpoint = e
	n.ctx, err = e.OpenContext()
	require.NoError(t, err)
	return n
}

// connect makes a peer connect.
func (n *fakeNode) connect() *fakeStream { return n.connectFrom("10.0.0.1") }

// connectFrom makes a peer connect from an address.
func (n *fakeNode) connectFrom(ip string) *fakeStream {
	n.port++
	f := &fakeStream{s: &n.stack, remote: netip.AddrPortFrom(netip.MustParseAddr(ip), n.port), room: -1}
	l := n.stack.listener
	l.waiting = append(l.waiting, f)
	n.stack.events = append(n.stack.events, stack.Event{Token: l.token, Ready: stack.Readable})
	n.settle()
	return f
}

// connected makes a peer connect and send an unexpected message, so that it is known.
func (n *fakeNode) connected() (*fakeStream, bmi.Addr) {
	f := n.connect()
	f.arrive(wire.Unexpected(1, 0).Append(nil)...)
	n.settle()
	var got [1]bmi.Unexpected
	k, err := n.TestUnexpected(got[:], 0)
	require.NoError(n.t, err)
	require.Equal(n.t, 1, k)
	got[0].Release()
	return f, got[0].From
}

// settlePolls is enough for everything that is there to be processed.
const settlePolls = 20

// settle lets the method make progress, and takes nothing.
func (n *fakeNode) settle() {
	for range settlePolls {
		n.poll()
	}
}

// poll polls once.
func (n *fakeNode) poll() {
	var none [1]bmi.Unexpected
	_, err := n.TestUnexpectedClass(255, none[:], 0)
	require.NoError(n.t, err)
}

// recv posts a receive.
func (n *fakeNode) recv(from bmi.Addr, tag bmi.Tag, size int) bmi.Posted {
	p, err := n.ctx.PostRecv(from, tag, make([]byte, size), nil)
	require.NoError(n.t, err)
	return p
}

// send posts a send.
func (n *fakeNode) send(to bmi.Addr, tag bmi.Tag, size int) bmi.Posted {
	p, err := n.ctx.PostSend(to, tag, make([]byte, size), nil)
	require.NoError(n.t, err)
	return p
}

// completion polls for the next completion.
func (n *fakeNode) completion() (bmi.Completion, bool) {
	var out [1]bmi.Completion
	k, err := n.ctx.TestContext(out[:], 0)
	require.NoError(n.t, err)
	return out[0], k == 1
}

// message is the bytes of an expected message.
func message(tag uint32, size int) []byte {
	return append(wire.Expected(tag, size).Append(nil), make([]byte, size)...)
}

// unexpected is the bytes of an unexpected message.
func unexpected(tag uint32, size int) []byte {
	return append(wire.Unexpected(tag, size).Append(nil), make([]byte, size)...)
}
