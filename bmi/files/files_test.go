package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi/files"
)

// Fill gives zeros for bytes that the file does not have, and returns all other errors.
func TestFill(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte("0123456789"), 0o600))
	file, err := os.Open(name)
	require.NoError(t, err)
	part := files.Range{File: file, Off: 2, Len: 100}
	for at, want := range map[int]string{0: "2345", 6: "89\x00\x00", 8: "\x00\x00\x00\x00", 90: "\x00\x00\x00\x00"} {
		b := []byte("xxxx")
		require.NoError(t, part.Fill(b, at))
		assert.Equal(t, want, string(b), "from byte %d on", at)
	}
	require.NoError(t, file.Close())
	assert.ErrorIs(t, part.Fill(make([]byte, 4), 0), os.ErrClosed)
}

// TestCheck: all bytes that are read are checked, with their offset in the file, and nothing else is.
func TestCheck(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte("0123456789"), 0o600))
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	var seen string
	var from int64
	whole := files.Range{File: file, Off: 1, Len: 100, Check: func(b []byte, off int64) error {
		seen, from = string(b), off
		return nil
	}}
	part := whole.Part(5, 20)
	require.NoError(t, part.Fill(make([]byte, 10), 1))
	assert.Equal(t, "789", seen)
	assert.EqualValues(t, 7, from)
	seen = ""
	require.NoError(t, part.Fill(make([]byte, 10), 4))
	assert.Empty(t, seen)

	damaged := errors.New("damaged")
	part.Check = func([]byte, int64) error { return damaged }
	require.ErrorIs(t, part.Fill(make([]byte, 10), 1), damaged)
	_, err = part.Read(make([]byte, 1), 0)
	require.ErrorIs(t, err, damaged)
}
