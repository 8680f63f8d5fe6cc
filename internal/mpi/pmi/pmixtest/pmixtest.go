// Package pmixtest builds viaduct-pmix for tests, and finds launchers with PMIx. It is for tests only.
package pmixtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// Helper builds viaduct-pmix, and returns its path.
func Helper(t *testing.T) string {
	t.Helper()
	flags(t)
	out := filepath.Join(t.TempDir(), "viaduct-pmix")
	run(t, "make", "-C", filepath.Join(root(t), "cmd", "viaduct-pmix"), "OUTPUT="+out, "CFLAGS=-O0")
	return out
}

// Library compiles a libpmix for tests from a file of C, with macros, and returns its path.
func Library(t *testing.T, source string, macros ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "libpmix.so.2")
	args := append([]string{"-O0", "-shared", "-fPIC", "-o", out, source}, flags(t)...)
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	run(t, "cc", args...)
	return out
}

// flags returns what the compiler must know to find the headers of PMIx.
func flags(t *testing.T) []string {
	t.Helper()
	for _, program := range []string{"make", "cc", "pkg-config"} {
		need.Program(t, program)
	}
	out, err := exec.Command("pkg-config", "--cflags", "pmix").Output()
	if err != nil {
		need.Unless(t, need.PMIx, errors.New("its headers are not installed: apt-get install "+need.Packages(need.PMIx)))
	}
	return strings.Fields(string(out))
}

// OpenMPI returns the command of Open MPI's mpirun, and the variables that it needs.
func OpenMPI(t *testing.T) (command, env []string) {
	t.Helper()
	return []string{need.Program(t, "mpirun.openmpi"), "--oversubscribe", "--bind-to", "none"}, []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "TMPDIR=" + shortDir(t)}
}

// PRRTE returns the command of PRRTE's prterun. Debian has no package of it, so the test is skipped
// where it is missing.
func PRRTE(t *testing.T) (command, env []string) {
	t.Helper()
	return []string{need.Program(t, "prterun"), "--map-by", ":OVERSUBSCRIBE"}, []string{"PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1", "TMPDIR=" + shortDir(t)}
}

// shortDir returns a folder of the test with a path that is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pmix")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// root returns the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
