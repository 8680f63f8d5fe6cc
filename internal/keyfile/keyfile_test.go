package keyfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// TestFiles: a file that others can use is refused, with a hint what to do.
func TestFiles(t *testing.T) {
	const bytesMax = 100
	dir := t.TempDir()
	file := func(name string, bytes int, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("k", bytes)), mode))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for name, c := range map[string]struct {
		path                    string
		secret, trusted, public string // what the error says; "" is none
	}{
		"mine":     {file("mine", 5, 0o600), "", "", ""},
		"full":     {file("full", bytesMax, 0o600), "", "", ""},
		"readable": {file("readable", 5, 0o644), "chmod 600", "", ""},
		"writable": {file("writable", 5, 0o620), "chmod 600", "others can write", ""},
		"long":     {file("long", bytesMax+1, 0o600), "longer than 100", "longer than 100", "longer than 100"},
		"folder":   {dir, "not a regular file", "not a regular file", "not a regular file"},
		"pipe":     {pipe, "not a regular file", "not a regular file", "not a regular file"},
	} {
		for _, r := range []struct {
			read func(string, int64) ([]byte, error)
			says string
		}{{Secret, c.secret}, {Trusted, c.trusted}, {Public, c.public}} {
			b, err := r.read(c.path, bytesMax)
			if r.says == "" {
				require.NoError(t, err, name)
				require.NotEmpty(t, b, name)
				continue
			}
			require.ErrorIs(t, err, ErrUnsafe, name)
			require.ErrorContains(t, err, r.says, name)
			require.ErrorContains(t, err, c.path, name)
			require.Nil(t, b, name)
		}
	}
	_, err := Secret(filepath.Join(dir, "missing"), bytesMax)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NotErrorIs(t, err, ErrUnsafe)
}

// TestOwner: a file of another user may contain a secret that both share, but not grant rights.
func TestOwner(t *testing.T) {
	need.AsRoot(t)
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("k"), 0o600))
	require.NoError(t, os.Chown(path, 31337, 31337))
	_, err := Trusted(path, 10)
	require.ErrorIs(t, err, ErrUnsafe)
	require.ErrorContains(t, err, "belongs to another user")
	_, err = Secret(path, 10)
	require.NoError(t, err)

	_, err = SecretOf(31337, path, 10)
	require.NoError(t, err)
	_, err = SecretOf(0, path, 10)
	require.ErrorIs(t, err, ErrUnsafe)
	require.ErrorContains(t, err, "does not belong to user 0")
	require.NoError(t, os.Chmod(path, 0o640))
	_, err = SecretOf(31337, path, 10)
	require.ErrorContains(t, err, "chmod 600")
}
