package info

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEnv(t *testing.T) {
	in := Env()
	command, ok := in.Get("command")
	assert.True(t, ok)
	assert.Equal(t, os.Args[0], command)
	dir, err := os.Getwd()
	require.NoError(t, err)
	wdir, ok := in.Get("wdir")
	assert.True(t, ok)
	assert.Equal(t, dir, wdir)
	level, _ := in.Get("thread_level")
	assert.Equal(t, "MPI_THREAD_MULTIPLE", level)
}

func TestHWResources(t *testing.T) {
	in := HWResources()
	shared, ok := in.Get("mpi_shared_memory")
	assert.True(t, ok)
	assert.Equal(t, "true", shared)
	one, ok := in.Get("viaduct://processor")
	assert.True(t, ok)
	assert.Contains(t, []string{"true", "false"}, one)
}
