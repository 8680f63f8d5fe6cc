// Package core sits on bmi alone.
package core

import (
	_ "github.com/viaduct-hpc/viaduct/bmi"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
)
