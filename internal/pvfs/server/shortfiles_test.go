package server_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// shortFiles is a folder whose files cannot reach the largest offset. In memory they can.
func shortFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "probe"))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	if f.Truncate(math.MaxInt64) == nil {
		t.Skipf("a file in %s may have %d bytes: set TMPDIR to a folder on a disk", dir, math.MaxInt64)
	}
	return dir
}
