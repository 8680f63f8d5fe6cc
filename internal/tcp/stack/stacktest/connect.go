package stacktest

import (
	"net/netip"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

var connectTests = []test{
	{"connect", func(t T, w *world) {
		a, b := w.pair()
		assert.NotEmpty(t, a.n.stack.Name())
		require.NoError(t, a.stream.Connected())
		w.until("the accepted side gets its first Writable", func() bool {
			done, err := b.connected()
			require.NoError(t, err)
			return done
		})
		assert.True(t, b.stream.Remote().IsValid())
	}},
	{"the remote address is what was dialled", func(t T, w *world) {
		l := w.node().listen()
		a, _ := w.join(w.node(), l)
		assert.Equal(t, l.listener.Addr(), a.stream.Remote())
	}},
	{"nobody listens", func(t T, w *world) {
		server, client := w.node(), w.node()
		w.refused(client, w.nobody(server))
	}},
	{"a closed listener refuses", func(t T, w *world) {
		server, client := w.node(), w.node()
		l := server.listen()
		a, b := w.join(client, l)
		l.close()
		w.refused(client, l.listener.Addr())
		w.moves(a, b, 1000)
	}},
	{"address in use", func(t T, w *world) {
		server := w.node()
		l := server.listen()
		_, err := server.stack.Listen(l.listener.Addr(), server.token())
		require.ErrorIs(t, err, stack.ErrInUse)
		at := l.listener.Addr()
		l.close()
		again, err := server.stack.Listen(at, server.token())
		require.NoError(t, err, "the address is free again")
		assert.Equal(t, at, again.Addr())
		require.NoError(t, again.Close())
	}},
	{"nobody waits", func(t T, w *world) {
		server := w.node()
		l := server.listen()
		_, err := l.listener.Accept(server.token())
		require.ErrorIs(t, err, stack.ErrAgain)
		w.join(w.node(), l)
	}},
	{"accepted in the order of dialling", acceptOrder},
	{"connections before the listener is polled", func(t T, w *world) {
		server, client := w.node(), w.node()
		l := server.listen()
		for range 5 {
			client.dial(l.listener.Addr())
		}
		w.settle()
		accepted := 0
		w.until("all accepted", func() bool {
			if l.accept() != nil {
				accepted++
			}
			return accepted == 5
		})
	}},
}

// refused dials an address without a listener.
func (w *world) refused(client *node, at netip.AddrPort) {
	w.t.Helper()
	token := client.token()
	s, err := client.stack.Dial(at, token)
	if err != nil {
		require.ErrorIs(w.t, err, stack.ErrRefused)
		return
	}
	e := client.keep(&end{token: token, stream: s})
	var why error
	w.until("refused", func() bool {
		done, err := e.connected()
		why = err
		return done
	})
	require.ErrorIs(w.t, why, stack.ErrRefused)
	require.ErrorIs(w.t, s.Connected(), stack.ErrRefused, "the answer does not change")
	e.close()
}

// acceptOrder dials several times in a row and tells the streams apart by the
// byte that each carries.
func acceptOrder(t T, w *world) {
	const count = 8
	server, client := w.node(), w.node()
	l := server.listen()
	for i := range count {
		e := client.dial(l.listener.Addr())
		w.until("sent", func() bool {
			n, err := e.send1([]byte{byte(i)})
			require.NoError(t, err)
			return n == 1
		})
	}
	for i := range count {
		var e *end
		w.until("accepted", func() bool { e = l.accept(); return e != nil })
		var b [4]byte
		w.until("received", func() bool {
			n, err := e.recv1(b[:])
			require.NoError(t, err)
			return n == 1
		})
		require.Equal(t, byte(i), b[0], "accepted out of order")
	}
}
