// Package epoch has the rules of one-sided synchronisation (MPI-4.1, 12.5) as state machines: which
// epochs of a window are open in a process, and which ranks hold the lock of its part.
//
// machine.go has the epochs of one process, queue.go the lock of one part of a window. The package
// is pure: no goroutine, lock, clock or message. Package mpi/rma carries out what it decides.
package epoch
