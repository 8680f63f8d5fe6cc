package pmi

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/server"
)

// TestKeyLeavesTheEnvironment: processes that the program starts do not inherit the key of the job,
// even an invalid one. The name of a file with the key stays, because others cannot read the file.
func TestKeyLeavesTheEnvironment(t *testing.T) {
	conn, fd := pair(t)
	getenv := launcherEnv(fd, 0, 1)
	for _, key := range []string{FDEnv, RankEnv, SizeEnv, PortEnv, JobEnv, SpawnedEnv, VersionEnv} {
		t.Setenv(key, getenv(key))
	}
	secret := strings.Repeat("ab", SecretBytes)
	t.Setenv(KeyFileEnv, "file")
	t.Setenv(KeyEnv, "no key")
	_, _, err := FromEnvironment(testContext(t))
	require.ErrorContains(t, err, "6 characters are too short")
	_, there := os.LookupEnv(KeyEnv)
	assert.False(t, there)

	t.Setenv(KeyEnv, secret)
	j := server.New(server.Config{Name: "job", Size: 1})
	served := make(chan error)
	go func() { served <- j.Serve(0, conn) }()
	c, ok, err := FromEnvironment(testContext(t))
	require.NoError(t, err)
	require.True(t, ok)
	assert.Equal(t, secret, hex.EncodeToString(c.Secret()))
	_, there = os.LookupEnv(KeyEnv)
	assert.False(t, there)
	assert.Equal(t, "file", os.Getenv(KeyFileEnv))
	require.NoError(t, c.Close())
	require.NoError(t, <-served)
	j.Close()
}
