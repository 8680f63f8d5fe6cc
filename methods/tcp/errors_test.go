package tcp_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// openTCP opens an endpoint; without an address it only connects.
func openTCP(t testing.TB, listen string, opts tcp.Options) (*bmi.Endpoint, *bmi.Context) {
	t.Helper()
	cfg := bmi.Config{Methods: []string{"tcp"}, Options: map[string]any{"tcp": opts}}
	if listen != "" {
		cfg.Listen = []string{listen}
	}
	e, err := bmi.Open(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close()) })
	c, err := e.OpenContext()
	require.NoError(t, err)
	return e, c
}

// bounded is a context that ends long after what is tested should.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// introduce connects a to b, which listens, and returns their addresses for each
// other.
func introduce(t testing.TB, a *bmi.Endpoint, ca *bmi.Context, b *bmi.Endpoint) (toB, toA bmi.Addr) {
	t.Helper()
	toB, err := a.Lookup(b.Addresses()[0])
	require.NoError(t, err)
	require.NoError(t, ca.SendUnexpected(bounded(t), toB, 0, 1, []byte("hello")))
	var got [1]bmi.Unexpected
	n, err := b.TestUnexpected(got[:], patience)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	toA = got[0].From
	got[0].Release()
	return toB, toA
}

// TestErrors: each failure has its own kind of error, whose text says what it is
// about and what to do.
func TestErrors(t *testing.T) {
	b, cb := openTCP(t, "tcp://127.0.0.1:0", tcp.Options{})
	a, ca := openTCP(t, "", tcp.Options{})
	toB, toA := introduce(t, a, ca, b)
	hasty, ch := openTCP(t, "", tcp.Options{ConnectTimeout: 300 * time.Millisecond})

	t.Run("nobody there", func(t *testing.T) {
		gone, _ := openTCP(t, "tcp://127.0.0.1:0", tcp.Options{})
		address := gone.Addresses()[0]
		require.NoError(t, gone.Close())
		to, err := hasty.Lookup(address)
		require.NoError(t, err)
		err = ch.Send(bounded(t), to, 1, []byte("x"))
		require.ErrorIs(t, err, bmi.ErrUnreachable)
		require.ErrorContains(t, err, address)
		require.ErrorContains(t, err, "check the address")
		require.ErrorIs(t, hasty.CheckAddr(to), bmi.ErrUnreachable)
	})
	t.Run("no such host", func(t *testing.T) {
		to, err := hasty.Lookup("tcp://no-such-host.invalid:1")
		require.NoError(t, err, "looking up asks nobody")
		err = ch.Send(bounded(t), to, 1, []byte("x"))
		require.ErrorIs(t, err, bmi.ErrUnreachable)
		require.ErrorContains(t, err, "no-such-host.invalid")
	})
	t.Run("the second of two addresses", func(t *testing.T) {
		to, err := a.Lookup("tcp://127.0.0.1:1,tcp://localhost" + b.Addresses()[0][len("tcp://127.0.0.1"):])
		require.NoError(t, err)
		require.NoError(t, ca.SendUnexpected(bounded(t), to, 0, 7, nil))
		var got [1]bmi.Unexpected
		n, err := b.TestUnexpected(got[:], patience)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		assert.Equal(t, bmi.Tag(7), got[0].Tag)
		got[0].Release()
	})
	t.Run("address taken", func(t *testing.T) {
		_, err := bmi.Open(context.Background(), bmi.Config{Listen: b.Addresses()})
		require.ErrorIs(t, err, bmi.ErrNameTaken)
		require.ErrorContains(t, err, b.Addresses()[0])
	})
	t.Run("address of another machine", func(t *testing.T) {
		_, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{"tcp://192.0.2.1:5000"}})
		require.ErrorContains(t, err, "tcp://192.0.2.1:5000")
	})
	t.Run("options mistaken", func(t *testing.T) {
		for says, opts := range map[string]any{
			"options of type int":     1,
			"ConnectTimeout is -1ns":  tcp.Options{ConnectTimeout: -1},
			"Connections is -1":       &tcp.Options{Connections: -1},
			"the option TLS is for t": tcp.Options{TLS: tcp.TLS{Secret: "x"}},
		} {
			_, err := bmi.Open(context.Background(), bmi.Config{Methods: []string{"tcp"}, Options: map[string]any{"tcp": opts}})
			require.ErrorContains(t, err, says)
		}
	})
	t.Run("a class", func(t *testing.T) {
		_, err := ca.PostSendUnexpected(toB, 1, 1, nil, nil)
		require.ErrorIs(t, err, bmi.ErrNotSupported)
	})
	t.Run("too large", func(t *testing.T) {
		_, err := ca.PostSendUnexpected(toB, 0, 1, make([]byte, 16<<10+1), nil)
		require.ErrorIs(t, err, bmi.ErrTooLarge)
		_, err = ca.PostSend(toB, 1, make([]byte, 16<<20+1), nil)
		require.ErrorIs(t, err, bmi.ErrTooLarge)
	})
	t.Run("who connected is gone", func(t *testing.T) {
		require.NoError(t, a.Close())
		_, err := cb.Recv(bounded(t), toA, 1, make([]byte, 1))
		require.ErrorIs(t, err, bmi.ErrPeerFailed)
		err = cb.Send(bounded(t), toA, 1, nil)
		require.ErrorIs(t, err, bmi.ErrPeerFailed)
		require.ErrorContains(t, err, "only it can make a new one")
	})
}

// TestConnectionsAreBounded: beyond the limit, a new peer is refused with an
// error, and existing connections are not disturbed.
func TestConnectionsAreBounded(t *testing.T) {
	b, cb := openTCP(t, "tcp://127.0.0.1:0", tcp.Options{Connections: 2})
	var callers []*bmi.Context
	var tos, froms []bmi.Addr
	for range 2 {
		a, ca := openTCP(t, "", tcp.Options{})
		to, from := introduce(t, a, ca, b)
		callers, tos, froms = append(callers, ca), append(tos, to), append(froms, from)
	}
	late, cl := openTCP(t, "", tcp.Options{})
	to, err := late.Lookup(b.Addresses()[0])
	require.NoError(t, err)
	_, err = cl.Call(bounded(t), to, 0, 1, nil, nil) // the receive is there before the connection can end
	require.ErrorIs(t, err, bmi.ErrPeerFailed)
	require.NotZero(t, b.Stats().Methods[0].Errors.TurnedAway)
	for i, ca := range callers {
		require.NoError(t, ca.Send(bounded(t), tos[i], 5, []byte("still here")))
		n, err := cb.Recv(bounded(t), froms[i], 5, make([]byte, 10))
		require.NoError(t, err)
		require.Equal(t, 10, n)
	}
}
