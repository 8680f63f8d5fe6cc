package shm_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/nic/shm"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl/vipltest"
)

// TestViplConformance runs the conformance suite of the VI Architecture over this
// provider, with both ends in one process and one goroutine.
func TestViplConformance(t *testing.T) {
	vipltest.Run(t, func(t *testing.T) vipltest.Setup {
		return vipltest.Setup{
			Provider: shm.Provider{Dir: t.TempDir()},
			Name:     func(i int) string { return fmt.Sprintf("nic-%d", i) },
			Step: func() bool {
				runtime.Gosched()
				return true
			},
			Seed: 1,
		}
	})
}
