// Package errclass is what can go wrong in an MPI call, in the terms of the MPI standard:
// a Class for programs, and a sentence for people.
//
// Every package below mpi returns these errors; package mpi shows them under its own name.
// Nothing here knows of communicators or messages.
package errclass
