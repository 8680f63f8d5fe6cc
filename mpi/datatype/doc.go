// Package datatype implements MPI's datatypes (MPI-4.1, chapter 5): which bytes of memory a buffer
// of (address, count, datatype) consists of, in which order they travel, and how they are copied
// between memory and a stream of packed bytes.
//
// A Type is immutable and safe for concurrent use; it needs neither commit nor free. It is
// predefined (predefined.go; standard.go lists the names of MPI), made by a constructor (construct.go,
// struct.go, array.go), or derived from a Go type by Of (of.go).
//
// Inside, a type is bounds and numbers (shape.go) and a tree of loops over runs of bytes
// (layout.go), which stays small if the memory has a pattern: a vector of a million blocks is one
// node. move.go walks the tree, and kernel.go has the loops that copy bytes; callers use them
// through pack.go, cursor.go and external.go. Elements that have another size outside of memory go
// through converter.go, which knows only how a representation.go stores each kind.
//
// Operators on elements are in mpi/reduce, and the headers that travel with packed bytes in
// internal/mpi/core. The package is pure: no I/O, no clock, and no state except caches of the results of
// reflection and of the types of f90.go.
package datatype
