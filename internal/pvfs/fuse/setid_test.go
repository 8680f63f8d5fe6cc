package fuse_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
)

// TestSetIDBits: they are cleared when a user other than root changes the data of a file, and when its owner changes.
func TestSetIDBits(t *testing.T) {
	need.AsRoot(t)
	b := start(t, setup{})
	path := filepath.Join(b.work, "f")
	other := &view{dir: b.work, user: fstest.User{UID: 1001, Groups: []uint32{1001}}}
	by := func(v *view, flag int, do func(f fstest.File) error) func() error {
		return func() error {
			f, err := v.Open("f", flag, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			return do(f)
		}
	}
	write := func(f fstest.File) error { _, err := f.Write([]byte("x")); return err }
	cut := func(f fstest.File) error { return f.Truncate(1) }
	nothing := func(fstest.File) error { return nil }
	root := &view{dir: b.work, user: fstest.Root}
	for _, c := range []struct {
		name         string
		do           func() error
		before, want uint32
	}{
		{"write", by(other, os.O_WRONLY, write), 0o6777, 0o777},
		{"append", by(other, os.O_WRONLY|os.O_APPEND, write), 0o6777, 0o777},
		{"direct", by(other, os.O_WRONLY|unix.O_DIRECT, write), 0o4777, 0o777},
		{"ftruncate", by(other, os.O_RDWR, cut), 0o6777, 0o777},
		{"truncate", func() error { return other.Truncate("f", 2) }, 0o6777, 0o777},
		{"open with O_TRUNC", by(other, os.O_WRONLY|os.O_TRUNC, nothing), 0o6777, 0o777},
		{"not set-group-id without the right to execute", by(other, os.O_WRONLY, write), 0o6767, 0o2767},
		{"chown", func() error { return os.Chown(path, 7, 8) }, 0o6777, 0o777},
		{"chown by its owner", func() error { return other.Chown("f", -1, 1001) }, 0o6777, 0o777},
		{"not when it is read", by(other, os.O_RDONLY, nothing), 0o6777, 0o6777},
		{"not when root writes", by(root, os.O_WRONLY, write), 0o6777, 0o6777},
		{"not when root cuts", by(root, os.O_RDWR, cut), 0o6777, 0o6777},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte("some bytes"), 0o666))
			if c.name == "chown by its owner" {
				require.NoError(t, os.Chown(path, 1001, 1))
			}
			require.NoError(t, unix.Chmod(path, c.before))
			require.NoError(t, c.do())
			var st syscall.Stat_t
			require.NoError(t, syscall.Stat(path, &st))
			assert.Equal(t, c.want, st.Mode&0o7777, "%o", st.Mode)
			require.NoError(t, os.Remove(path))
		})
	}
}
