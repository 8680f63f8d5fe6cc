package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// TestLinesOfGoSum: a program's go.sum has no more lines than this with what it imports of this module. They count what the
// packages need and what their tests import: a package for programs leaves tests that need much to a package of their own. If it
// became less, write the smaller number here.
func TestLinesOfGoSum(t *testing.T) {
	for imports, most := range map[string]int{
		"bmi":                                 8,
		"bmi methods/tcp":                     14,
		"mpi methods/tcp":                     16,
		"mpi methods/via":                     29,
		"mpi mpi/rma methods/via methods/tcp": 29,
		"pvfs/client methods/tcp":             30,
	} {
		t.Run(imports, func(t *testing.T) {
			lines := goSum(t, strings.Fields(imports))
			assert.LessOrEqual(t, len(lines), most, "more than before:\n%s", strings.Join(lines, "\n"))
			t.Logf("%d lines", len(lines))
		})
	}
}

// goSum returns the lines of go.sum that go mod tidy writes for a program with these imports.
func goSum(t *testing.T, imports []string) []string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	mod := fmt.Sprintf("module example.org/program\n\ngo 1.26.0\n\nrequire %[1]s v0.0.0\n\nreplace %[1]s => %[2]q\n", viaduct, root)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600))
	program := "package main\n\n"
	for _, one := range imports {
		program += fmt.Sprintf("import _ %q\n", viaduct+"/"+one)
	}
	program += "\nfunc main() {}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "mod", "tidy")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		needModules(t, out)
		require.NoError(t, err, "go mod tidy: %s", out)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(sums)), "\n")
}

// needModules skips a test if the go command failed because it did not reach a proxy.
func needModules(t *testing.T, out []byte) {
	t.Helper()
	if unreachable(out) {
		need.Unless(t, need.Modules, errors.New(strings.TrimSpace(string(out))))
	}
}

// unreachable reports whether the go command failed because it did not reach a proxy, or has no folder for modules.
func unreachable(out []byte) bool {
	for _, sign := range []string{"dial tcp", "GOPROXY=off", "missing $GOPATH", "no such host", "i/o timeout", "connection refused"} {
		if strings.Contains(string(out), sign) {
			return true
		}
	}
	return false
}
