package bmi_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

func TestSendRecv(t *testing.T) {
	a, b := newWorld(t).pair()
	buf := make([]byte, 16)
	recv, err := b.ctx.PostRecv(b.peer, 7, buf, "mine")
	require.NoError(t, err)
	require.False(t, recv.Done)
	sent := a.wait(a.ctx.PostSend(a.peer, 7, []byte("hello"), nil))
	assert.NoError(t, sent.Err)
	got := b.wait(recv, nil)
	assert.NoError(t, got.Err)
	assert.Equal(t, recv.Op, got.Op)
	assert.Equal(t, "mine", got.User)
	assert.Equal(t, "hello", string(buf[:got.Size]))
}

func TestSizes(t *testing.T) {
	w := newWorld(t)
	w.opt.MaxExpectedSize = 100_000
	a, b := w.pair()
	for _, size := range []int{0, 1, 4096, 4097, 100_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			msg, buf := bytes.Repeat([]byte{0xa5}, size), make([]byte, size)
			sent, err := a.ctx.PostSend(a.peer, 1, msg, nil)
			require.NoError(t, err)
			got := b.wait(b.ctx.PostRecv(b.peer, 1, buf, nil))
			require.NoError(t, got.Err)
			assert.Equal(t, size, got.Size)
			assert.Equal(t, msg, buf)
			assert.NoError(t, a.wait(sent, nil).Err)
		})
	}
}

func TestImmediateCompletion(t *testing.T) {
	a, b := newWorld(t).pair()
	p, err := a.ctx.PostSend(a.peer, 1, []byte("x"), nil)
	require.NoError(t, err)
	assert.Equal(t, bmi.Posted{Done: true, Size: 1}, p)

	require.Eventually(t, func() bool {
		_, _ = b.ctx.TestContext(make([]bmi.Completion, 1), 0)
		return b.ep.Stats().Methods[0].EarlyMessages == 1
	}, limit, 1)
	p, err = b.ctx.PostRecv(b.peer, 1, make([]byte, 4), nil)
	require.NoError(t, err)
	assert.Equal(t, bmi.Posted{Done: true, Size: 1}, p, "the message was there before the receive")
	n, err := b.ctx.TestContext(make([]bmi.Completion, 1), 0)
	require.NoError(t, err)
	assert.Zero(t, n, "what was done in the post is not returned again")
}

func TestTruncation(t *testing.T) {
	a, b := newWorld(t).pair()
	short, next := make([]byte, 3), make([]byte, 5)
	first, err := b.ctx.PostRecv(b.peer, 1, short, nil)
	require.NoError(t, err)
	second, err := b.ctx.PostRecv(b.peer, 1, next, nil)
	require.NoError(t, err)
	a.wait(a.ctx.PostSend(a.peer, 1, []byte("hello"), nil))
	a.wait(a.ctx.PostSend(a.peer, 1, []byte("world"), nil))

	got := b.wait(first, nil)
	assert.ErrorIs(t, got.Err, bmi.ErrTruncated)
	assert.Equal(t, 5, got.Size, "the length of the message")
	got = b.wait(second, nil)
	assert.NoError(t, got.Err)
	assert.Equal(t, "world", string(next))
}

func TestTruncationOfAnEarlyMessage(t *testing.T) {
	a, b := newWorld(t).pair()
	a.wait(a.ctx.PostSend(a.peer, 1, []byte("hello"), nil))
	require.Eventually(t, func() bool {
		_, _ = b.ctx.TestContext(make([]bmi.Completion, 1), 0)
		return b.ep.Stats().Methods[0].EarlyMessages == 1
	}, limit, 1)
	p, err := b.ctx.PostRecv(b.peer, 1, nil, "u")
	require.NoError(t, err)
	require.False(t, p.Done, "a failure is never reported as done")
	got := b.wait(p, nil)
	assert.ErrorIs(t, got.Err, bmi.ErrTruncated)
	assert.Equal(t, "u", got.User)
}

func TestOrderPerTag(t *testing.T) {
	w := newWorld(t)
	w.opt.EagerSize = 8
	a, b := w.pair()
	var recvs []bmi.Posted
	bufs := make([][]byte, 20)
	for i := range bufs {
		bufs[i] = make([]byte, 16)
		p, err := b.ctx.PostRecv(b.peer, bmi.Tag(i%2), bufs[i], nil)
		require.NoError(t, err)
		recvs = append(recvs, p)
	}
	for i := range bufs { // short and long ones alternate in each tag
		msg := make([]byte, 1+(i/2%2)*15)
		msg[0] = byte(i)
		_, err := a.ctx.PostSend(a.peer, bmi.Tag(i%2), msg, nil)
		require.NoError(t, err)
	}
	for i, p := range recvs {
		require.NoError(t, b.wait(p, nil).Err)
		assert.EqualValues(t, i, bufs[i][0])
	}
}

func TestLists(t *testing.T) {
	for _, eager := range []int{1000, 4} {
		w := newWorld(t)
		w.opt.EagerSize = eager
		a, b := w.pair()
		pieces := [][]byte{[]byte("he"), nil, []byte("llo w"), []byte("orld")}
		sent, err := a.ctx.PostSendList(a.peer, 1, pieces, nil)
		require.NoError(t, err)
		clear(pieces) // the list, unlike the memory, is the caller's again
		into := [][]byte{make([]byte, 1), make([]byte, 0), make([]byte, 9), make([]byte, 9)}
		got := b.wait(b.ctx.PostRecvList(b.peer, 1, into, nil))
		require.NoError(t, got.Err)
		assert.Equal(t, "hello world", string(bytes.Join(into, nil)[:got.Size]))
		assert.NoError(t, a.wait(sent, nil).Err)

		_, err = a.ctx.PostSendUnexpectedList(a.peer, 3, 9, [][]byte{[]byte("a"), []byte("b")}, nil)
		require.NoError(t, err)
		var u [1]bmi.Unexpected
		n, err := b.ep.TestUnexpected(u[:], limit)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		assert.Equal(t, "ab", string(u[0].Data))
	}
}

func TestRejectedPosts(t *testing.T) {
	w := newWorld(t)
	w.opt.MaxExpectedSize, w.opt.MaxUnexpectedSize, w.opt.MaxPieces, w.opt.NoClasses = 100, 10, 2, true
	a, b := w.pair()
	big := make([]byte, 101)
	for name, tc := range map[string]struct {
		post func() (bmi.Posted, error)
		want error
		text string
	}{
		"zero address": {func() (bmi.Posted, error) { return a.ctx.PostSend(bmi.Addr{}, 1, nil, nil) }, bmi.ErrInvalid, "Lookup"},
		"not ours":     {func() (bmi.Posted, error) { return a.ctx.PostRecv(b.peer, 1, nil, nil) }, bmi.ErrInvalid, "another endpoint"},
		"too large":    {func() (bmi.Posted, error) { return a.ctx.PostSend(a.peer, 1, big, nil) }, bmi.ErrTooLarge, "101 bytes, mem takes 100"},
		"too large list": {func() (bmi.Posted, error) { return a.ctx.PostSendList(a.peer, 1, [][]byte{big[:50], big[:51]}, nil) },
			bmi.ErrTooLarge, "101 bytes"},
		"too large unexpected": {func() (bmi.Posted, error) { return a.ctx.PostSendUnexpected(a.peer, 0, 1, big[:11], nil) },
			bmi.ErrTooLarge, "11 bytes unexpected, mem takes 10"},
		"no pieces":       {func() (bmi.Posted, error) { return a.ctx.PostRecvList(a.peer, 1, nil, nil) }, bmi.ErrInvalid, "0 pieces"},
		"too many pieces": {func() (bmi.Posted, error) { return a.ctx.PostRecvList(a.peer, 1, make([][]byte, 3), nil) }, bmi.ErrInvalid, "3 pieces"},
		"no classes": {func() (bmi.Posted, error) { return a.ctx.PostSendUnexpected(a.peer, 1, 1, nil, nil) },
			bmi.ErrNotSupported, "no classes"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := tc.post()
			require.ErrorIs(t, err, tc.want)
			assert.ErrorContains(t, err, tc.text)
			assert.Zero(t, p)
		})
	}
	_, err := a.ctx.PostRecv(a.peer, 1, big, nil)
	assert.NoError(t, err, "a receive may offer more room than needed")
}

func TestPendingLimit(t *testing.T) {
	w := newWorld(t)
	w.cfg.Limits.PendingOps = 3
	a, b := w.pair()
	for range 3 {
		_, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
		require.NoError(t, err)
	}
	_, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
	require.ErrorIs(t, err, bmi.ErrAgain)
	b.wait(b.ctx.PostSend(b.peer, 1, nil, nil))
	n, err := a.ctx.TestContext(make([]bmi.Completion, 3), limit)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = a.ctx.PostRecv(a.peer, 1, nil, nil)
	assert.NoError(t, err, "there is room after a completion was returned")
}

func TestFailureWithinThePostIsACompletion(t *testing.T) {
	w := newWorld(t)
	e := w.open("")
	s := w.side(e, "nobody")
	p, err := s.ctx.PostSend(s.peer, 1, []byte("x"), "u")
	require.NoError(t, err)
	require.False(t, p.Done)
	got := s.wait(p, nil)
	assert.ErrorIs(t, got.Err, bmi.ErrUnreachable)
	assert.Equal(t, "u", got.User)
}
