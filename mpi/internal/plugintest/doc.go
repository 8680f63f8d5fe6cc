// Package plugintest contains only tests: of MPI over a method in another process. They are not in package mpi because the
// checksums of all packages that tests of mpi import, gRPC among them, would be in go.sum of every program that imports mpi.
package plugintest
