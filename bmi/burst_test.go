package bmi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// numbered makes posts with tags from 0 on, and these tags as their only byte.
func numbered(n int) []bmi.Post {
	posts := make([]bmi.Post, n)
	for i := range posts {
		posts[i] = bmi.Post{Tag: bmi.Tag(i), Buf: []byte{byte(i)}, User: i}
	}
	return posts
}

// TestBursts: a burst of any length is posted in order, and each message completes as if it had
// been posted alone.
func TestBursts(t *testing.T) {
	for _, count := range []int{0, 1, 63, 64, 65, 200} {
		a, b := newWorld(t).pair()
		recvs, sends := numbered(count), numbered(count)
		for i := range recvs {
			recvs[i].Buf = make([]byte, 1)
		}
		n, err := b.ctx.PostRecvs(b.peer, recvs)
		require.NoError(t, err)
		require.Equal(t, count, n)
		n, err = a.ctx.PostSends(a.peer, sends)
		require.NoError(t, err)
		require.Equal(t, count, n)
		for i := range count {
			got := b.wait(recvs[i].Posted, nil)
			require.Equal(t, i, got.User)
			require.NoError(t, got.Err)
			require.Equal(t, []byte{byte(i)}, recvs[i].Buf)
			if p := sends[i].Posted; !p.Done {
				require.NoError(t, a.wait(p, nil).Err)
			}
		}
	}
}

// TestBurstsEndWhereRoomEnds: what found no room can be posted again when an operation has completed.
func TestBurstsEndWhereRoomEnds(t *testing.T) {
	w := newWorld(t)
	w.cfg.Limits.PendingOps = 3
	a, b := w.pair()
	recvs := numbered(5)
	recvs[3].Posted = bmi.Posted{Op: 77}
	n, err := a.ctx.PostRecvs(a.peer, recvs)
	require.ErrorIs(t, err, bmi.ErrAgain)
	require.Equal(t, 3, n)
	assert.Equal(t, bmi.Posted{Op: 77}, recvs[3].Posted, "it was not posted")
	b.wait(b.ctx.PostSend(b.peer, 0, nil, nil))
	require.NoError(t, a.wait(recvs[0].Posted, nil).Err)
	n, err = a.ctx.PostRecvs(a.peer, recvs[3:])
	require.ErrorIs(t, err, bmi.ErrAgain)
	assert.Equal(t, 1, n)
}

// TestBurstsOfWrongPosts: the operations before the wrong one have been posted.
func TestBurstsOfWrongPosts(t *testing.T) {
	f := &fake{}
	s := f.open(t, bmi.Config{})
	sends := numbered(4)
	sends[2].Buf = make([]byte, 1<<20)
	n, err := s.ctx.PostSends(s.peer, sends)
	require.ErrorIs(t, err, bmi.ErrTooLarge)
	assert.Equal(t, 2, n)
	require.Len(t, f.posted, 2)
	for i, op := range f.posted {
		assert.Equal(t, bmi.Tag(i), op.Tag)
		assert.Equal(t, sends[i].Buf, op.Bufs[0])
	}
	for name, tc := range map[string]struct {
		to   bmi.Addr
		want error
	}{
		"nobody":           {bmi.Addr{}, bmi.ErrInvalid},
		"another endpoint": {(&fake{}).open(t, bmi.Config{}).peer, bmi.ErrInvalid},
	} {
		for _, burst := range []func(bmi.Addr, []bmi.Post) (int, error){s.ctx.PostSends, s.ctx.PostRecvs} {
			n, err := burst(tc.to, numbered(2))
			assert.ErrorIs(t, err, tc.want, name)
			assert.Zero(t, n, name)
		}
	}
	assert.Len(t, f.posted, 2)
	require.NoError(t, s.ctx.Close())
	n, err = s.ctx.PostSends(s.peer, numbered(2))
	assert.ErrorIs(t, err, bmi.ErrClosed)
	assert.Zero(t, n)
}

// TestBurstsTrySmallSendsFirst: as single ones, small sends need no operation if the method takes them at once.
func TestBurstsTrySmallSendsFirst(t *testing.T) {
	var asked []string
	f := &fake{nowBytes: 1, now: func(head, body []byte) bool {
		asked = append(asked, string(head)+string(body))
		return len(asked)%2 == 0
	}}
	s := f.open(t, bmi.Config{})
	_, err := s.ctx.PostRecv(s.peer, 1, nil, nil) // the context is known to the method now
	require.NoError(t, err)
	f.posted = nil
	sends := []bmi.Post{{Buf: []byte("a")}, {Buf: []byte("b")}, {Buf: []byte("long")}, {Buf: []byte("c")}}
	n, err := s.ctx.PostSends(s.peer, sends)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	assert.Equal(t, []string{"a", "b", "c"}, asked)
	require.Len(t, f.posted, 3)
	assert.Equal(t, bmi.Posted{Done: true, Size: 1}, sends[1].Posted)
	assert.False(t, sends[2].Posted.Done)
}
