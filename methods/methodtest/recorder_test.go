package methodtest_test

import (
	"github.com/viaduct-hpc/viaduct/internal/verdict"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

// record runs one test of the suite to its end.
func record(test methodtest.Test, f methodtest.Factory) *verdict.T {
	return verdict.Run(test.Name, func(t *verdict.T) { test.Func(t, f(t)) })
}
