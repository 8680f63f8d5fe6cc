package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/netns"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// TestHostsAreMeasured starts the job once.
func TestHostsAreMeasured(t *testing.T) {
	cfg := config{self: thisProgram(t), mpi: t.TempDir(), work: t.TempDir(), only: groupHosts}
	require.NoError(t, programs.Build(cfg.mpi, "cmd/mpiexec"))
	all := newResults()
	got, err := hostsContender(cfg).run(t.Context())
	if why := (*netns.CannotError)(nil); errors.As(err, &why) {
		need.Unless(t, need.Namespaces, err)
	}
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.Positive(t, got[0].Median)
	assert.Equal(t, isUnknown, hostsRow(all).Verdict)
	all.values[pointID{onHosts, hostsStart, hostsRanks}] = got
	assert.NotEqual(t, isUnknown, hostsRow(all).Verdict)
}
