package seeded

import (
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

func TestSeeded(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {})
}
