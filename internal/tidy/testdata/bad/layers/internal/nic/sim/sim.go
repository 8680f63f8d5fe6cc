// Package sim may use virtual time.
package sim

import (
	_ "github.com/viaduct-hpc/viaduct/internal/sim"
	_ "github.com/viaduct-hpc/viaduct/methods/via/nic"
	_ "github.com/viaduct-hpc/viaduct/methods/via/vipl"
)
