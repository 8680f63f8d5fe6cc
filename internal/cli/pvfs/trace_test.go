package pvfs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTrace: a command writes its requests, to the last one, and each command has the option.
func TestTrace(t *testing.T) {
	s := newShell(t)
	dir := t.TempDir()
	local, file := filepath.Join(dir, "local"), filepath.Join(dir, "t.json")
	require.NoError(t, os.WriteFile(local, make([]byte, 300_000), 0o600))
	s.ok("cp " + local + " :/file --trace " + file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var all []struct {
		Name, Cat, Ph string
		Args          map[string]any
	}
	require.NoError(t, json.Unmarshal(text, &all))
	begun, seen := 0, map[string]map[string]any{}
	for _, e := range all {
		switch {
		case e.Cat != "pvfs client":
		case e.Ph == "b":
			begun++
		default:
			begun--
			seen[e.Name] = e.Args
		}
	}
	assert.Zero(t, begun, "all have ended")
	require.Contains(t, seen, "CREATE")
	require.Contains(t, seen, "IO")
	assert.NotEmpty(t, seen["IO"]["handle"])
	assert.Positive(t, seen["IO"]["bytes"])

	assert.Contains(t, s.no(ExitUsage, "ls / --trace "+local), "--trace: "+local+" exists and is no trace")
	for _, cmd := range (&App{}).root().Commands() {
		assert.Equal(t, cmd.Name() != "version", cmd.Flags().Lookup("trace") != nil, cmd.Name())
	}
}
