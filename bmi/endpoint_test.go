package bmi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSendRecv(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	buf := make([]byte, 16)
	recv, err := b.ctx.PostRecv(b.peer, 7, buf, "mine")
	require.NoError(t, err)
	require.False(t, recv.Done)
	sent := a.wait(a.ctx.PostSend(a.peer, 7, []byte("hello"), nil))
	assert.NoError(t, sent.Err)
	got := b.wait(recv, nil)
	assert.NoError(t, got.Err)
	assert.Equal(t, "mine", got.User)
	assert.Equal(t, "hello", string(buf[:got.Size]))
}
