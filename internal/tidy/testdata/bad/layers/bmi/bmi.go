// Package bmi must not know a method.
package bmi

import (
	_ "fmt"

	_ "github.com/viaduct-hpc/viaduct/matchbits"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
)
