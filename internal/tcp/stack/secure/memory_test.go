package secure

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// network joins the streams of memory stacks. It does the worst that a kernel may
// do: pieces of any size, and little room.
type network struct {
	rng       *rand.Rand
	pieceMax  int // most bytes that one Recv or Send moves; 0: no limit
	room      int // bytes on the way in each direction
	backlog   int
	listeners map[netip.AddrPort]*memoryListener
	tamper    func(b []byte) // sees all that is sent
}

func newNetwork(seed uint64) *network {
	return &network{
		rng: rand.New(rand.NewPCG(seed, 0)), room: 256 << 10, backlog: 1 << 20,
		listeners: map[netip.AddrPort]*memoryListener{},
	}
}

// memory is a stack.Stack without a kernel.
type memory struct {
	net  *network
	mu   sync.Mutex
	cond sync.Cond
	wake bool

	queue  []*memoryEnd // have events
	heads  []*memoryListener
	closed bool
}

func (n *network) stack() *memory {
	m := &memory{net: n}
	m.cond.L = &m.mu
	return m
}

type memoryListener struct {
	owner  *memory
	at     netip.AddrPort
	token  stack.Token
	wait   []*memoryEnd
	queued bool
	closed bool
}

// memoryEnd is one side of a connection.
type memoryEnd struct {
	owner    *memory
	peer     *memoryEnd
	token    stack.Token
	in       []byte // on the way to us
	ready    stack.Ready
	queued   bool
	waits    bool // this end was not accepted yet
	refused  bool
	ended    bool // the peer finished or closed
	reset    bool // the peer closed with something unread
	closed   bool
	full     bool // our Send said ErrAgain
	finished bool
}

var errReset = errors.New("memory: connection reset")

func (m *memory) Name() string { return "memory" }

func (m *memory) Listen(at netip.AddrPort, t stack.Token) (stack.Listener, error) {
	if m.net.listeners[at] != nil {
		return nil, stack.ErrInUse
	}
	l := &memoryListener{owner: m, at: at, token: t}
	m.net.listeners[at] = l
	return l, nil
}

func (m *memory) Dial(to netip.AddrPort, t stack.Token) (stack.Stream, error) {
	a := &memoryEnd{owner: m, token: t}
	l := m.net.listeners[to]
	if l == nil || len(l.wait) >= m.net.backlog {
		a.refused = true
		a.event(stack.Readable | stack.Writable)
		return a, nil
	}
	b := &memoryEnd{owner: l.owner, peer: a, waits: true}
	a.peer = b
	l.wait = append(l.wait, b)
	if !l.queued {
		l.queued = true
		l.owner.heads = append(l.owner.heads, l)
	}
	l.owner.Wake()
	a.event(stack.Writable)
	return a, nil
}

func (m *memory) Poll(events []stack.Event) int {
	n := 0
	for n < len(events) && len(m.heads) > 0 {
		l := m.heads[0]
		m.heads = m.heads[1:]
		l.queued = false
		if !l.closed {
			events[n] = stack.Event{Token: l.token, Ready: stack.Readable}
			n++
		}
	}
	for n < len(events) && len(m.queue) > 0 {
		e := m.queue[0]
		m.queue = m.queue[1:]
		e.queued = false
		if !e.closed {
			events[n] = stack.Event{Token: e.token, Ready: e.ready}
			n++
		}
		e.ready = 0
	}
	return n
}

func (m *memory) Close() error { m.closed = true; return nil }

func (m *memory) Arm() bool { return len(m.queue) == 0 && len(m.heads) == 0 }
func (m *memory) Disarm()   {}

func (m *memory) Sleep(timeout time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if timeout >= 0 {
		defer time.AfterFunc(timeout, m.Wake).Stop()
	}
	for !m.wake {
		m.cond.Wait()
	}
	m.wake = false
}

func (m *memory) Wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wake = true
	m.cond.Broadcast()
}

func (l *memoryListener) Accept(t stack.Token) (stack.Stream, error) {
	if len(l.wait) == 0 {
		return nil, stack.ErrAgain
	}
	e := l.wait[0]
	l.wait = l.wait[1:]
	e.token, e.waits = t, false
	e.event(stack.Readable | stack.Writable)
	return e, nil
}

func (l *memoryListener) Addr() netip.AddrPort { return l.at }

func (l *memoryListener) Close() error {
	l.closed = true
	delete(l.owner.net.listeners, l.at)
	return nil
}

func (e *memoryEnd) event(r stack.Ready) {
	if e.closed || e.waits {
		return
	}
	e.ready |= r
	if !e.queued {
		e.queued = true
		e.owner.queue = append(e.owner.queue, e)
	}
	e.owner.Wake()
}

func (e *memoryEnd) Connected() error {
	if e.refused {
		return stack.ErrRefused
	}
	return nil
}

func (e *memoryEnd) limit(n int) int {
	if p := e.owner.net.pieceMax; p > 0 && n > 0 {
		return min(n, 1+e.owner.net.rng.IntN(p))
	}
	return n
}

func (e *memoryEnd) Recv(bufs [][]byte) (int, error) {
	if e.closed {
		panic("memory: Recv after Close")
	}
	total := 0
	for _, buf := range bufs {
		n := copy(buf[:e.limit(len(buf))], e.in)
		e.in = e.in[n:]
		total += n
		if n > 0 && e.peer.full {
			e.peer.full = false
			e.peer.event(stack.Writable)
		}
		if n < len(buf) {
			break
		}
	}
	switch {
	case len(e.in) > 0:
		return total, nil
	case e.reset:
		return total, errReset
	case e.ended:
		return total, io.EOF
	case total > 0 && e.owner.net.rng.IntN(2) == 0:
		return total, nil
	}
	return total, stack.ErrAgain
}

func (e *memoryEnd) Send(bufs [][]byte) (int, error) {
	if e.closed {
		panic("memory: Send after Close")
	}
	total := 0
	for _, buf := range bufs {
		if e.peer.closed {
			return total, errReset
		}
		n := e.limit(min(len(buf), e.owner.net.room-len(e.peer.in)))
		sent := append([]byte(nil), buf[:n]...)
		if e.owner.net.tamper != nil {
			e.owner.net.tamper(sent)
		}
		e.peer.in = append(e.peer.in, sent...)
		total += n
		if n > 0 {
			e.peer.event(stack.Readable)
		}
		if len(e.peer.in) >= e.owner.net.room {
			e.full = true
			return total, stack.ErrAgain
		}
		if n < len(buf) {
			break
		}
	}
	return total, nil
}

func (e *memoryEnd) Finish() error {
	e.finished = true
	e.peer.ended = true
	e.peer.event(stack.Readable)
	return nil
}

func (e *memoryEnd) Delivered() bool { return e.peer != nil && len(e.peer.in) == 0 }

func (e *memoryEnd) Remote() netip.AddrPort { return netip.MustParseAddrPort("192.0.2.1:1") }

// Close behaves like a kernel: with unread bytes, the peer is reset and loses the
// bytes that it has not read.
func (e *memoryEnd) Close() {
	if e.closed {
		return
	}
	e.closed = true
	if e.peer == nil || e.peer.closed {
		return
	}
	if len(e.in) > 0 {
		e.peer.reset, e.peer.in = true, nil
	}
	e.peer.ended = true
	e.peer.event(stack.Readable | stack.Writable)
}
