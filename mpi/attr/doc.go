// Package attr is what programs and libraries attach to communicators, datatypes and windows:
// attributes, each under a key of its own with functions that are called when the object is
// duplicated or freed (MPI-4.1, 7.7).
//
// A [Keyval] is such a key, a [List] the attributes of one object. The object itself is only
// handed on to the functions, so its type is a parameter. Both are safe for concurrent use,
// and no lock is held while a function of the program's runs: it may use the attributes of the
// same object.
//
// Which attributes every communicator has, such as the largest tag, is package mpi's.
package attr
