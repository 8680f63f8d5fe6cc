// Package attr implements the attributes that programs and libraries attach to communicators,
// datatypes and windows. Each has a key of its own, with functions that are called when the object
// is duplicated or freed (MPI-4.1, 7.7).
//
// A [Keyval] is such a key, a [List] the attributes of one object. The object is only passed on to
// the functions, so its type is a parameter. Both are safe for concurrent use. No lock is held
// while a function of the program runs, so it may use the attributes of the same object.
//
// The attributes of every communicator, such as the largest tag, are in package mpi.
package attr
