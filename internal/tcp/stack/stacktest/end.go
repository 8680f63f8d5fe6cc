package stacktest

import (
	"errors"
	"io"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

var endTests = []test{
	{"the end comes after the bytes", func(t T, w *world) {
		a, b := w.pair()
		w.gives(a, 0, 1000)
		require.NoError(t, a.stream.Finish())
		w.takes(b, 0, 1000)
		require.ErrorIs(t, w.ends(b), io.EOF)
		_, err := b.stream.Recv([][]byte{make([]byte, 1)})
		require.ErrorIs(t, err, io.EOF, "the end stays")
	}},
	{"bytes and the end in one event", bytesAndEnd},
	{"half closed", func(t T, w *world) {
		a, b := w.pair()
		require.NoError(t, b.stream.Finish())
		require.ErrorIs(t, w.ends(a), io.EOF)
		w.moves(a, b, 200_000)
		require.NoError(t, a.stream.Finish())
		require.ErrorIs(t, w.ends(b), io.EOF)
	}},
	{"Send after Finish", func(t T, w *world) {
		a, _ := w.pair()
		require.NoError(t, a.stream.Finish())
		w.until("an error", func() bool {
			n, err := a.stream.Send([][]byte{{1}})
			require.Zero(t, n)
			return err != nil && !errors.Is(err, stack.ErrAgain)
		})
	}},
	{"the other side closes", func(t T, w *world) {
		a, b := w.pair()
		a.close()
		require.Error(t, w.ends(b))
	}},
	{"the other side closes with bytes unread", func(t T, w *world) {
		a, b := w.pair()
		w.gives(b, 0, 1000)
		w.until("delivered", b.stream.Delivered)
		a.close()
		require.Error(t, w.ends(b))
	}},
	{"sending to a closed side breaks", func(t T, w *world) {
		a, b := w.pair()
		a.close()
		buf := make([]byte, 1000)
		var why error
		w.until("broken", func() bool {
			b.writable = true // no event is promised before a try
			_, why = b.send1(buf)
			return why != nil
		})
		assert.NotErrorIs(t, why, io.EOF)
		require.Error(t, w.ends(b))
	}},
	{"no event after Close", noEventAfterClose},
	{"Close while connecting", func(t T, w *world) {
		l, client := w.node().listen(), w.node()
		e := client.dial(l.listener.Addr())
		e.close()
		w.settle()
		w.join(client, l) // its connection may be queued behind the one that was closed
	}},
	{"closing twice does no harm", func(t T, w *world) {
		server, client := w.node(), w.node()
		l := server.listen()
		a, b := w.join(client, l)
		for range 2 {
			a.stream.Close()
			require.NoError(t, l.listener.Close())
		}
		delete(client.ends, a.token)
		delete(server.ends, l.token)
		require.Error(t, w.ends(b))
	}},
	{"the stack closes what is open", func(t T, w *world) {
		server, client, other := w.node(), w.node(), w.node()
		l := server.listen()
		at := l.listener.Addr()
		a, b := w.join(client, l)
		server.close()
		require.Error(t, w.ends(a))
		assert.Zero(t, server.stack.Poll(server.events))
		_, err := b.stream.Recv([][]byte{make([]byte, 1)})
		require.Error(t, err)
		require.NotErrorIs(t, err, stack.ErrAgain)
		require.NoError(t, server.stack.Close(), "closing again")
		w.refused(other, at)
	}},
}

// ends receives until the stream ends, and returns how.
func (w *world) ends(e *end) error {
	w.t.Helper()
	var why error
	buf := make([]byte, 4096)
	w.until("the stream ends", func() bool {
		_, why = e.recv1(buf)
		return why != nil
	})
	return why
}

// bytesAndEnd makes bytes and the end of the stream arrive before the receiver
// asks for events. There is one edge for both, and a Recv with more room than
// bytes must not hide the end.
func bytesAndEnd(t T, w *world) {
	for _, extra := range []int{0, 1, 1000} {
		a, b := w.pair()
		w.gives(a, 0, 100)
		require.NoError(t, a.stream.Finish())
		w.until("delivered", a.stream.Delivered)
		w.settle() // b's owner polls, and so gets the available edges
		b.n.poll()
		buf := make([]byte, 100+extra)
		got := 0
		w.until("the stream ends", func() bool {
			n, err := b.recv1(buf)
			got += n
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
			}
			return err != nil
		})
		require.Equal(t, 100, got)
	}
}

// noEventAfterClose closes streams with pending events, and continues to use
// their stack: node.poll fails on a token that is not open.
func noEventAfterClose(t T, w *world) {
	server, client := w.node(), w.node()
	l := server.listen()
	for range 20 {
		a, b := w.join(client, l)
		w.gives(a, 0, 100)
		a.close()
		w.until("bytes are there", func() bool { return b.readable })
		b.close()
		w.poll()
	}
	w.settle()
	a, b := w.join(client, l)
	w.moves(a, b, 1000)
}
