// Package mpitest runs MPI jobs in tests: all ranks in the test's own process, each with an
// endpoint of its own, started by a boot.Local.
//
// It links no method in. A test package imports those that it names, for instance
//
//	import _ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
//
// for Memory. Jobs whose ranks are processes of their own are package launch's business.
package mpitest
