package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTrace: all programs of a job get the variable, and the folder is a new one.
func TestTrace(t *testing.T) {
	above := filepath.Join(t.TempDir(), "100%")
	require.NoError(t, os.Mkdir(above, 0o700))
	folder := filepath.Join(above, "trace")
	cfg, err := parse([]string{"-trace", folder, "a", ":", "-env", "A=1", "b"}, &cobra.Command{})
	require.NoError(t, err)
	variable := "VIADUCT_TRACE=" + strings.ReplaceAll(folder, "%", "%%") + "/rank-%r.json"
	assert.Equal(t, []string{variable}, cfg.Programs[0].Env)
	assert.Equal(t, []string{variable, "A=1"}, cfg.Programs[1].Env)
	assert.NoDirExists(t, folder, "the processes make it")

	code, out, _ := run(t, "-n 1 -trace "+folder+" printenv VIADUCT_TRACE")
	assert.Zero(t, code)
	assert.Equal(t, strings.TrimPrefix(variable, "VIADUCT_TRACE=")+"\n", out)

	file := filepath.Join(above, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for folder, want := range map[string]string{
		above: "there is something in this folder", file: "not a directory", above + "/no/such": "there is no folder " + above + "/no",
	} {
		code, _, said := run(t, "-trace "+folder+" true")
		assert.Equal(t, exitUsage, code, folder)
		assert.Contains(t, said, want)
	}
}
