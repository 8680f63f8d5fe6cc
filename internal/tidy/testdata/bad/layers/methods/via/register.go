package via

import (
	_ "github.com/viaduct-hpc/viaduct/bmi"
	_ "github.com/viaduct-hpc/viaduct/internal/nic/shm" // this file alone may
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
)
