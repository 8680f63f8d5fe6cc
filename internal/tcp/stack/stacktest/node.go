package stacktest

import (
	"errors"
	"net/netip"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// node is the owner of one stack.
type node struct {
	w      *world
	stack  stack.Stack
	ends   map[stack.Token]*end // the open ends
	last   stack.Token
	events []stack.Event
	closed bool
}

// end is a stream or a listener, with the state that its owner knows from events.
type end struct {
	n        *node
	token    stack.Token
	listener stack.Listener
	stream   stack.Stream
	readable bool
	writable bool
	one      [1][]byte
}

// golden spreads tokens over all bits.
const golden stack.Token = 0x9e3779b97f4a7c15

// token returns a new token. Tokens use all 64 bits and come in no order.
func (n *node) token() stack.Token {
	n.last++
	return n.last * golden
}

// poll takes events; each must belong to an open end. Neither poll nor the functions that move
// bytes call testify while all is well: they run millions of times, and testify inspects the
// call stack each time.
func (n *node) poll() int {
	if n.closed {
		return 0
	}
	count := n.stack.Poll(n.events)
	if count > len(n.events) {
		require.LessOrEqual(n.w.t, count, len(n.events))
	}
	for _, ev := range n.events[:count] {
		e := n.ends[ev.Token]
		if e == nil || ev.Ready == 0 || ev.Ready&^(stack.Readable|stack.Writable|stack.Hangup) != 0 {
			require.NotNil(n.w.t, e, "event %+v for nothing that is open", ev)
			require.NotZero(n.w.t, ev.Ready, "event without a reason")
			require.Fail(n.w.t, "an unknown reason", "event %+v", ev)
		}
		e.readable = e.readable || ev.Ready&stack.Readable != 0
		e.writable = e.writable || ev.Ready&stack.Writable != 0
	}
	return count
}

// order lists the open ends in order of creation.
func (n *node) order() []*end {
	out := make([]*end, 0, len(n.ends))
	for i := range n.last {
		if e := n.ends[(i+1)*golden]; e != nil {
			out = append(out, e)
		}
	}
	return out
}

func (n *node) close() {
	if n.closed {
		return
	}
	n.closed = true
	require.NoError(n.w.t, n.stack.Close())
}

// listen opens a listener at the subject's address.
func (n *node) listen() *end {
	t := n.token()
	l, err := n.stack.Listen(n.w.s.Addr(n.stack), t)
	require.NoError(n.w.t, err)
	require.NotZero(n.w.t, l.Addr().Port(), "Addr must have the real port")
	return n.keep(&end{token: t, listener: l})
}

// dial begins to connect.
func (n *node) dial(to netip.AddrPort) *end {
	t := n.token()
	s, err := n.stack.Dial(to, t)
	require.NoError(n.w.t, err)
	return n.keep(&end{token: t, stream: s})
}

func (n *node) keep(e *end) *end {
	e.n = n
	n.ends[e.token] = e
	return e
}

// accept takes a connection if the listener's events and Accept allow it.
func (e *end) accept() *end {
	if !e.readable {
		return nil
	}
	t := e.n.token()
	s, err := e.listener.Accept(t)
	if errors.Is(err, stack.ErrAgain) {
		e.readable = false
		return nil
	}
	require.NoError(e.n.w.t, err)
	return e.n.keep(&end{token: t, stream: s})
}

// connected calls Connected once an event says that there is an answer.
func (e *end) connected() (bool, error) {
	if !e.writable {
		return false, nil
	}
	err := e.stream.Connected()
	if errors.Is(err, stack.ErrAgain) {
		e.writable = false
		return false, nil
	}
	return true, err
}

// recv receives, if there may be something; err is io.EOF or the reason why the stream broke.
func (e *end) recv(bufs [][]byte) (int, error) {
	if !e.readable {
		return 0, nil
	}
	n, err := e.stream.Recv(bufs)
	e.check(n, bufs)
	if errors.Is(err, stack.ErrAgain) {
		e.readable = false
		err = nil
	}
	return n, err
}

// send sends, if there may be room.
func (e *end) send(bufs [][]byte) (int, error) {
	if !e.writable {
		return 0, nil
	}
	n, err := e.stream.Send(bufs)
	e.check(n, bufs)
	if errors.Is(err, stack.ErrAgain) {
		e.writable = false
		err = nil
	}
	return n, err
}

func (e *end) check(n int, bufs [][]byte) {
	room := 0
	for _, b := range bufs {
		room += len(b)
	}
	if n < 0 || n > room {
		require.Fail(e.n.w.t, "a count that cannot be", "%d of %d bytes", n, room)
	}
}

// noError fails the test if there is an error.
func noError(t T, err error) {
	if err != nil {
		t.Helper()
		require.NoError(t, err)
	}
}

// recv1 and send1 are recv and send with one piece.
func (e *end) recv1(b []byte) (int, error) {
	e.one[0] = b
	return e.recv(e.one[:])
}

func (e *end) send1(b []byte) (int, error) {
	e.one[0] = b
	return e.send(e.one[:])
}

// close forgets the end; any later event for it is an error.
func (e *end) close() {
	delete(e.n.ends, e.token)
	if e.listener != nil {
		require.NoError(e.n.w.t, e.listener.Close())
		return
	}
	e.stream.Close()
}

// pair makes a connection and returns its two ends.
func (w *world) pair() (dialled, accepted *end) {
	w.t.Helper()
	server, client := w.node(), w.node()
	return w.join(client, server.listen())
}

// join connects client to a listener.
func (w *world) join(client *node, l *end) (dialled, accepted *end) {
	w.t.Helper()
	dialled = client.dial(l.listener.Addr())
	w.until("connected on both sides", func() bool {
		if accepted == nil {
			accepted = l.accept()
		}
		done, err := dialled.connected()
		require.NoError(w.t, err)
		return done && accepted != nil
	})
	return dialled, accepted
}
