// Package core moves MPI messages: it joins sends with receives by context, source and
// tag, over bmi alone, and knows nothing of groups or collectives.
//
// An Engine is one process's place among others, each of which is a Proc. A Scope is what a
// communicator is to the engine: a context id and the processes behind its ranks. Messages
// are posted in a Scope and are Requests until they end. Memory is a Buffer: where it is,
// how many elements of which datatype.
//
// How a message travels is in docs/protocol-mpi.md; its packets are package mpi/core/wire.
// In short: a small one goes eagerly, in an unexpected message of bmi that the handler
// copies into the receive that waits for it; a large one is announced, and moves by bmi's
// expected messages straight into place.
//
// Who looks for the communicators, groups and collectives that users know finds them in
// package mpi, and how processes find each other in mpi/boot.
package core
