// Package hydratest finds Hydra, MPICH's launcher, for tests. It is for tests only.
package hydratest

import (
	"os/exec"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// Variable is the environment variable that says what happens to tests if Hydra is missing: "must"
// fails them, any other value skips them.
const Variable = "VIADUCT_HYDRA"

// Path returns the path of Hydra's mpiexec.
func Path(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("mpiexec.hydra")
	switch {
	case err == nil:
	case environ.Getenv(Variable) == "must":
		t.Fatalf("mpiexec.hydra is not installed (Debian: mpich), and %s=must wants it", Variable)
	default:
		t.Skip("mpiexec.hydra is not installed (Debian: mpich)")
	}
	return path
}
