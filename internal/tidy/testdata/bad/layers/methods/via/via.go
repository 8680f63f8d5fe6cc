// Package via runs on vipl only, and sees no other method.
package via

import (
	_ "github.com/viaduct-hpc/viaduct/bmi"
	_ "github.com/viaduct-hpc/viaduct/internal/nic/shm"
	_ "github.com/viaduct-hpc/viaduct/internal/via/ops"
	_ "github.com/viaduct-hpc/viaduct/internal/via/wire"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via/vipl"
	_ "github.com/viaduct-hpc/viaduct/peer"
)
