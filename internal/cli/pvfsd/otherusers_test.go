package pvfsd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestServeOtherUsers: with the option all users can reach the address, and not without it.
func TestServeOtherUsers(t *testing.T) {
	root := t.TempDir()
	t.Setenv("VIADUCT_SHM_DIR", filepath.Join(root, "own"))
	t.Setenv("VIADUCT_SHM_OPEN_DIR", filepath.Join(root, "open"))
	names := func(pattern string) (all []string) {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, name := range found {
			if st, err := os.Stat(name); assert.NoError(t, err) && st.Mode().Type() == os.ModeSocket {
				all = append(all, st.Mode().Perm().String())
			}
		}
		return all
	}
	address := newAddress("via+shm")
	conf := newConfig(t, "one=tcp://127.0.0.1:0,"+address)
	r, _ := serving(t, "--config", conf, "--dir", filepath.Join(root, "a"), "--create", "--other-users")
	assert.Equal(t, []string{"-rw-rw-rw-"}, names("open/*/*"))
	assert.Empty(t, names("own/*"))
	fetch(t, address)
	r.stop()
	require.Equal(t, ExitOK, r.wait().code, r.err.String())
	assert.Empty(t, names("open/*/*"))

	serving(t, "--config", conf, "--dir", filepath.Join(root, "a"))
	assert.Equal(t, []string{"-rw-------"}, names("own/*"))
	assert.Empty(t, names("open/*/*"))
}

func TestServeOtherUsersMistakes(t *testing.T) {
	folder := t.TempDir()
	r := pvfsd(t, "serve", "--config", newConfig(t, "mem://x"), "--dir", filepath.Join(folder, "a"), "--create", "--other-users")
	assert.Equal(t, ExitUsage, r.code)
	assert.Contains(t, r.err.String(), "this server has mem://x")

	r = pvfsd(t, "serve", "--config", newConfig(t, "--insecure", "one="+newAddress("via+shm"), "two="+newAddress("via+shm")), "--alias", "one",
		"--dir", filepath.Join(folder, "b"), "--create", "--other-users")
	assert.Equal(t, ExitUsage, r.code)
	assert.Contains(t, r.err.String(), "other users of the machine")
}
