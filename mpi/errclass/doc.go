// Package errclass has the errors of MPI calls, in the terms of the MPI standard: a Class for
// programs, and a sentence for users.
//
// Every package below mpi returns these errors; package mpi exports them under its own name. The
// package knows nothing of communicators or messages.
package errclass
