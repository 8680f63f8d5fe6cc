// Package via runs on vipl only, and sees no other method.
package via

import (
	_ "github.com/viaduct-hpc/viaduct/bmi"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via/nic/shm"
	_ "github.com/viaduct-hpc/viaduct/methods/via/ops"
	_ "github.com/viaduct-hpc/viaduct/methods/via/vipl"
	_ "github.com/viaduct-hpc/viaduct/methods/via/wire"
	_ "github.com/viaduct-hpc/viaduct/peer"
)
