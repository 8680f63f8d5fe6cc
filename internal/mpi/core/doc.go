// Package core moves MPI messages: it matches sends with receives by context, source and tag, over
// bmi alone. It knows nothing of groups or collective operations.
//
// An Engine is one process's view of all processes, each of which is a Proc. A Scope is the part of
// a communicator that the engine needs: a context id and the process of each rank. Messages are
// posted in a Scope and are Requests until they end. A Buffer describes memory: where it is, and
// how many elements of which datatype.
//
// docs/internals/protocols/mpi.md describes how a message travels, and package internal/mpi/core/wire its packets. In
// short: a small message goes eagerly, in an unexpected message of bmi that the handler copies into
// the matching receive. A large message is announced first, and then moves straight into place in
// expected messages of bmi.
//
// Communicators, groups and collective operations are in package mpi. How processes find each other
// is in mpi/boot.
package core
