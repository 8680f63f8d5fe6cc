// Package shm is a provider: it sees the seam and no simulation.
package shm

import (
	_ "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	_ "github.com/viaduct-hpc/viaduct/internal/sim"
	_ "github.com/viaduct-hpc/viaduct/methods/via/nic"
)
