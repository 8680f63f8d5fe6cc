package via

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/nic/shm"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
)

// The software NICs that come with the package are methods of every program
// that imports it.
func init() {
	bmi.Register(Driver(shm.Provider{}))
	bmi.Register(Driver(udp.Provider{}))
}
