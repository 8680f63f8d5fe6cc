// Package wire has the bodies of the calls with which one-sided operations reach a window in another
// process: what is to be done, where in the window, with which data. The packets around them, CALL
// and RETURN, are in internal/mpi/core/wire; docs/internals/protocols/mpi.md describes both.
//
// The package is pure. What the calls do is in mpi/rma.
package wire
