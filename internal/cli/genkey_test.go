package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
)

func TestGenkey(t *testing.T) {
	dir := t.TempDir()
	clients := filepath.Join(dir, "clients")
	load := func(key string) *secure.Identity {
		source := secure.IdentitySource{PrivateFile: filepath.Join(dir, key), ClientsFile: clients}
		id, err := source.Load()
		require.NoError(t, err)
		return id
	}
	require.NoError(t, os.WriteFile(clients, []byte("# who may connect"), 0o644))
	r := start(t, nil, "genkey", "--dir", dir, "--clients", clients, "alice", "node7").wait(t)
	require.Zero(t, r.code, r.err.String())
	assert.Contains(t, r.out.String(), "the private key of alice is in "+filepath.Join(dir, "alice.key"))
	id := load("alice.key")
	assert.Equal(t, "alice", id.Name(id.Private.Public()))
	assert.Equal(t, "node7", id.Name(load("node7.key").Private.Public()))
	info, err := os.Stat(filepath.Join(dir, "alice.key"))
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode().Perm())

	// A second key of the same name is added. An existing key is left alone.
	before, err := os.ReadFile(clients)
	require.NoError(t, err)
	r = start(t, nil, "genkey", "--dir", dir, "--clients", clients, "alice").wait(t)
	assert.NotZero(t, r.code)
	assert.Contains(t, r.err.String(), "is there already, and may be in use")
	after, err := os.ReadFile(clients)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	second := filepath.Join(dir, "second")
	require.NoError(t, os.Mkdir(second, 0o700))
	r = start(t, nil, "genkey", "--dir", second, "--clients", clients, "alice").wait(t)
	require.Zero(t, r.code, r.err.String())
	assert.Contains(t, r.err.String(), "has more than one key of alice now")
	both := load("second/alice.key")
	assert.Equal(t, "alice", both.Name(both.Private.Public()))
	assert.Equal(t, "alice", both.Name(id.Private.Public()))

	// Without a file only the line is printed.
	r = start(t, nil, "genkey", "--dir", t.TempDir(), "io[08-10]").wait(t)
	require.Equal(t, ExitOK, r.code, r.err.String())
	require.Regexp(t, `(?s)^io08 \S+\nio09 \S+\nio10 \S+\n$`, r.out.String())
	r = start(t, nil, "genkey", "--dir", dir, "bob").wait(t)
	require.Zero(t, r.code, r.err.String())
	list, err := secure.ParseClients([]byte(r.out.String()))
	require.NoError(t, err)
	assert.Equal(t, "bob", list.Name(load("bob.key").Private.Public()))
}

func TestGenkeyWithBadArguments(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("something else\n"), 0o644))
	for says, args := range map[string][]string{
		"a name is missing":     nil,
		"cannot stand in it":    {"a/b"},
		"must begin with":       {"../a"},
		"want a public key":     {"--clients", other, "alice"},
		"no such file":          {"--dir", filepath.Join(dir, "none"), "alice"},
		"1 to 64 characters":    {strings.Repeat("a", 65)},
		"is not a regular file": {"--clients", dir, "alice"},
	} {
		r := start(t, nil, append([]string{"genkey"}, args...)...).wait(t)
		assert.NotZero(t, r.code, says)
		assert.Contains(t, r.err.String(), says)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1)
}
