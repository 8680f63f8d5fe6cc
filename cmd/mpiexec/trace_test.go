package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTrace: each process of a job writes a trace, which only its owner can read, also if one of them is killed.
func TestTrace(t *testing.T) {
	for what, code := range map[string]int{"sum": 0, "die": 137} {
		folder := filepath.Join(t.TempDir(), "traces")
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := mpiexec(t, "-n", "3", "-trace", folder, "-env", mainVariable+"=", "-env", programVariable+"="+what, self)
		out, err := cmd.CombinedOutput()
		require.Equal(t, code, cmd.ProcessState.ExitCode(), "%s: %s: %v", what, out, err)
		for _, name := range []string{"rank-0.json", "rank-1.json", "rank-2.json"} {
			name := filepath.Join(folder, name)
			info, err := os.Stat(name)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			if what == "die" {
				assert.True(t, bytes.HasPrefix(text, []byte("[\n{\"name\":\"viaduct_trace\"")))
				continue
			}
			var all []map[string]any
			require.NoError(t, json.Unmarshal(text, &all))
			calls := map[any]int{}
			for _, e := range all {
				if e["cat"] == "mpi" {
					calls[e["name"]]++
				}
			}
			assert.Equal(t, map[any]int{"MPI_Allreduce": 1, "MPI_Finalize": 1}, calls)
		}
	}
}
