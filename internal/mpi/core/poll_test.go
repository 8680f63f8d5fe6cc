package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// An operation that ended before the endpoint was closed has succeeded, even if the caller learns
// of both at once.
func TestEndBeforeClose(t *testing.T) {
	e, _, _ := lonely(t)
	require.NoError(t, e.ctx.Close())
	looks := 0
	require.NoError(t, e.poll(func() bool { looks++; return looks > 1 }, false))
	require.ErrorIs(t, e.poll(func() bool { return false }, false), errclass.Other)
}
