// Package coll sits on bmi alone.
package coll

import (
	_ "github.com/viaduct-hpc/viaduct/bmi"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
)
