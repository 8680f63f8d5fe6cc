// Package mpitest runs MPI jobs in tests: all ranks in the test's own process, each with an
// endpoint of its own, started by a boot.Local.
//
// It links no method. A test package must import those that it names, for instance
//
//	import _ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
//
// for Memory. For jobs whose ranks are processes of their own see package launch.
package mpitest
