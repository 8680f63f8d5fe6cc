package bmi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// TestSendUnexpectedNow: the method decides, except about messages that must not
// reach it.
func TestSendUnexpectedNow(t *testing.T) {
	asked := 0
	f := &fake{nowBytes: 5, now: func(head, body []byte) bool {
		asked++
		return string(head)+string(body) == "now"
	}}
	s := f.open(t, bmi.Config{})
	now := func(c *bmi.Context, to bmi.Addr, class bmi.Class, body string) bool {
		return c.SendUnexpectedNow(to, class, 7, []byte("n"), []byte(body))
	}
	assert.False(t, now(s.ctx, s.peer, 0, "ow"), "a context that has posted nothing")
	_, err := s.ctx.PostRecv(s.peer, 1, nil, nil)
	require.NoError(t, err)
	require.Zero(t, asked)

	assert.True(t, now(s.ctx, s.peer, 0, "ow"))
	assert.False(t, now(s.ctx, s.peer, 0, "ever"))
	require.Equal(t, 2, asked)
	assert.False(t, now(s.ctx, s.peer, 0, "ever after"), "longer than what the method takes")
	assert.False(t, now(s.ctx, bmi.Addr{}, 0, "ow"), "to nobody")
	assert.False(t, now(s.ctx, s.peer, 1, "ow"), "a class, and the method has none")
	assert.False(t, now(s.ctx, (&fake{}).open(t, bmi.Config{}).peer, 0, "ow"), "an address of another endpoint")

	closed, err := s.ep.OpenContext()
	require.NoError(t, err)
	_, err = closed.PostRecv(s.peer, 2, nil, nil)
	require.NoError(t, err)
	require.True(t, now(closed, s.peer, 0, "ow"))
	require.NoError(t, closed.Close())
	assert.False(t, now(closed, s.peer, 0, "ow"), "a closed context")
	require.NoError(t, s.ep.DropAddr(s.peer))
	assert.False(t, now(s.ctx, s.peer, 0, "ow"), "a dropped peer")
	require.NoError(t, s.ep.Close())
	assert.False(t, now(s.ctx, s.peer, 0, "ow"), "a closed endpoint")
	assert.Equal(t, 3, asked)
}

// TestSmallSendsNeedNoOp: a small send is tried without an operation first, and posted if the
// method does not take it.
func TestSmallSendsNeedNoOp(t *testing.T) {
	takes := false
	var asked []string
	f := &fake{nowBytes: 4, now: func(head, body []byte) bool {
		asked = append(asked, string(head)+string(body))
		return takes
	}}
	s := f.open(t, bmi.Config{})
	_, err := s.ctx.PostRecv(s.peer, 1, nil, nil)
	require.NoError(t, err)
	f.posted = nil
	send := func(text string) bmi.Posted {
		p, err := s.ctx.PostSend(s.peer, 2, []byte(text), nil)
		require.NoError(t, err)
		return p
	}
	require.False(t, send("none").Done)
	require.Len(t, f.posted, 1)
	takes = true
	require.Equal(t, bmi.Posted{Done: true, Size: 4}, send("four"))
	require.Equal(t, bmi.Posted{Done: true, Size: 0}, send(""))
	require.NoError(t, s.ctx.SendUnexpected(t.Context(), s.peer, 0, 3, []byte("wait")))
	require.Len(t, f.posted, 1)
	require.False(t, send("large").Done)
	require.Len(t, f.posted, 2)
	require.Equal(t, []string{"none", "four", "", "wait"}, asked)
}
