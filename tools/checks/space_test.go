package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRoomForTemporaryFiles(t *testing.T) {
	require.NoError(t, checkSpace(1))
	require.ErrorContains(t, checkSpace(math.MaxUint64), "set TMPDIR to a folder with more room")
	t.Setenv("TMPDIR", t.TempDir()+"/none")
	require.ErrorContains(t, checkSpace(1), "set TMPDIR to a folder that exists")
}
