package bmi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A send from a file is lent to the method with its range and no pieces, and its slot is
// reset afterwards.
func TestPostSendFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer file.Close()
	var got []bmi.FileRange
	f := &fake{files: true, post: func(_ *fake, op *bmi.Op) {
		assert.Empty(t, op.Bufs)
		assert.Equal(t, bmi.KindSend, op.Kind)
		got = append(got, op.File)
		op.Complete(op.Size, nil)
	}}
	s := f.open(t, bmi.Config{Manual: true})
	can, err := s.ep.FileSends(s.peer)
	require.NoError(t, err)
	require.True(t, can)
	part := bmi.FileRange{File: file, Off: 7, Len: 90}
	p, err := s.ctx.PostSendFile(s.peer, 3, part, nil)
	require.NoError(t, err)
	assert.Equal(t, bmi.Posted{Done: true, Size: 90}, p)
	assert.Equal(t, []bmi.FileRange{part}, got)

	f.post = func(_ *fake, op *bmi.Op) {
		assert.Zero(t, op.File)
		assert.Len(t, op.Bufs, 1)
		op.Complete(op.Size, nil)
	}
	_, err = s.ctx.PostSend(s.peer, 3, []byte("plain"), nil)
	require.NoError(t, err)
	part.Len = 0
	_, err = s.ctx.PostSendFile(s.peer, 3, part, nil)
	require.NoError(t, err, "nothing to take is a plain message")
	part.Len = 101
	_, err = s.ctx.PostSendFile(s.peer, 3, part, nil)
	assert.ErrorIs(t, err, bmi.ErrTooLarge)
}

// A method is asked only if its Info says so.
func TestPostSendFileNotOffered(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer file.Close()
	s := (&fake{}).open(t, bmi.Config{Manual: true})
	can, err := s.ep.FileSends(s.peer)
	require.NoError(t, err)
	require.False(t, can)
	_, err = s.ctx.PostSendFile(s.peer, 3, bmi.FileRange{File: file, Len: 1}, nil)
	require.ErrorIs(t, err, bmi.ErrNotSupported)
}
