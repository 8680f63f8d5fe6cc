package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// What ended before the endpoint was closed has ended well, also for who learns both at once.
func TestEndBeforeClose(t *testing.T) {
	e, _, _ := lonely(t)
	require.NoError(t, e.ctx.Close())
	looks := 0
	require.NoError(t, e.poll(func() bool { looks++; return looks > 1 }))
	require.ErrorIs(t, e.poll(func() bool { return false }), errclass.Other)
}
