package stacktest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

var edgeTests = []test{
	{"tokens come back whole", func(t T, w *world) {
		server, client := w.node(), w.node()
		for _, token := range []stack.Token{0, 1, 1<<32 - 1, 1 << 32, 1<<63 | 1, 1<<64 - 1} {
			l, err := server.stack.Listen(w.s.Addr(server.stack), token)
			require.NoError(t, err)
			le := server.keep(&end{token: token, listener: l})
			s, err := client.stack.Dial(l.Addr(), token)
			require.NoError(t, err)
			e := client.keep(&end{token: token, stream: s})
			w.until("connected", func() bool {
				done, err := e.connected()
				require.NoError(t, err)
				return done && le.readable
			})
			le.close()
			e.close()
		}
	}},
	{"a name can be used again", func(t T, w *world) {
		l, client := w.node().listen(), w.node()
		const token = 77
		for range 10 {
			s, err := client.stack.Dial(l.listener.Addr(), token)
			require.NoError(t, err)
			a := client.keep(&end{token: token, stream: s})
			var b *end
			w.until("met", func() bool {
				if b == nil {
					b = l.accept()
				}
				return b != nil
			})
			w.moves(a, b, 100)
			a.close()
			b.close()
		}
	}},
	{"bytes that came before Accept", func(t T, w *world) {
		l, client := w.node().listen(), w.node()
		e := client.dial(l.listener.Addr())
		w.until("there is somebody to accept", func() bool { return l.readable && e.writable })
		// A stack may do as it likes before Accept, so Send need not have room
		// for these bytes.
		b := make([]byte, 100)
		fill(b, 0)
		n, err := e.send1(b)
		require.NoError(t, err)
		w.settle()
		var a *end
		w.until("accepted", func() bool { a = l.accept(); return a != nil })
		w.gives(e, n, 100-n)
		w.takes(a, 0, 100)
	}},
	{"bytes that came before Poll", func(t T, w *world) {
		a, b := w.pair()
		for i := range 20 {
			w.gives(a, i*10, 10)
			if i%2 == 0 {
				w.only(a.n, func() { w.arrives(a) })
			}
			w.takes(b, i*10, 10)
			w.empty(b)
		}
	}},
	{"bytes that came between the last Recv and its event", recvWithoutEvent},
	{"quiet when nothing happens", func(t T, w *world) {
		a, b := w.pair()
		w.moves(a, b, 100_000)
		w.settle()
		for range 5 {
			count := 0
			for range 100 {
				if w.poll() {
					count++
				}
			}
			assert.LessOrEqual(t, count, 2, "events are edges, not levels")
		}
	}},
	{"Poll without room", func(t T, w *world) {
		a, b := w.pair()
		assert.Zero(t, b.n.stack.Poll(nil))
		w.gives(a, 0, 10)
		assert.Zero(t, b.n.stack.Poll(nil))
		w.takes(b, 0, 10)
	}},
}

// recvWithoutEvent receives without an event, and so takes bytes before their
// event comes. Later bytes must still make an event.
func recvWithoutEvent(t T, w *world) {
	a, b := w.pair()
	buf := make([]byte, 100)
	for i := range 50 {
		w.gives(a, 0, 10)
		got := 0
		for tries := 0; got < 10 && tries < 100; tries++ {
			b.readable = true
			n, err := b.recv1(buf)
			require.NoError(t, err)
			got += n
			if w.s.Step != nil {
				w.s.Step()
			}
		}
		if i%2 == 0 {
			w.poll()
		}
		if got < 10 {
			w.takes(b, got, 10-got)
		}
	}
}

// empty receives until ErrAgain, which must come without bytes left over.
func (w *world) empty(e *end) {
	var b [1]byte
	for e.readable {
		n, err := e.recv1(b[:])
		require.NoError(w.t, err)
		require.Zero(w.t, n, "bytes that nobody sent")
	}
}

// only calls happen while only one owner polls.
func (w *world) only(n *node, happen func()) {
	all := w.nodes
	w.nodes = []*node{n}
	happen()
	w.nodes = all
}
