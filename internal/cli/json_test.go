package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/manner"
)

// TestJSON: what commands print with --json has the declared keys.
func TestJSON(t *testing.T) {
	address := serveInProcess(t)
	folder := pluginFolder(t, "good")
	for path, args := range map[string][]string{
		"info":          {"info", "--json"},
		"env":           {"env", "--json", "--all"},
		"ping":          {"ping", address, "--json", "--count", "2", "--interval", "0"},
		"perf":          {"perf", address, "--json", "--time", "1ms", "--sizes", "8", "--tests", "latency,rate"},
		"plugins list":  {"plugins", "list", folder, "--json"},
		"plugins check": {"plugins", "check", filepath.Join(folder, "bmi-method-good"), "--run", "^(Info|SendRecv)$", "--json"},
	} {
		r := bmiRun(t, args...)
		require.NoError(t, manner.CheckJSON(Command(), path, r.out.String()), "%v: %s", args, r.err.String())
	}
}
