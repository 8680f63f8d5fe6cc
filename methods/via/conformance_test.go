package via_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(killVariable); spec != "" {
		if err := victim(spec); err != nil {
			fmt.Fprintln(os.Stderr, "victim:", err)
			os.Exit(1)
		}
		return
	}
	if role := os.Getenv(strangerVariable); role != "" {
		if err := strangerMain(role); err != nil {
			fmt.Fprintln(os.Stderr, "stranger:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(methodtest.MainWithoutLeaks(m, nil))
}

// TestConformanceSHM runs the conformance suite between endpoints of this
// process, and one of another process, over shared memory.
func TestConformanceSHM(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	methodtest.Run(t, func(t methodtest.T) *methodtest.Subject {
		return &methodtest.Subject{
			Address: func(name string) string { return "via+shm://" + name },
			Fork:    methodtest.ForkSelf(func(name string) string { return "via+shm://" + name }),
		}
	})
}
