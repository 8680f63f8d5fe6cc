// Command x links methods in and calls none of them by name.
package main

import (
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	"github.com/viaduct-hpc/viaduct/methods/via"
)

var _ = via.New
