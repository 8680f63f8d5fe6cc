// Package datatype is MPI's datatypes (MPI-4.1, chapter 5): which bytes of memory a
// buffer of (address, count, datatype) consists of, in which order they travel, and how
// they are moved between memory and a stream of packed bytes.
//
// A Type is immutable and safe for concurrent use; it needs neither commit nor free. It
// is one of the predefined ones (predefined.go), made by a constructor (construct.go,
// struct.go, array.go), or derived from a Go type by Of (of.go).
//
// Inside, a type is bounds and numbers (shape.go) and a tree of loops over runs of bytes
// (layout.go) that stays small where the memory has a pattern: a vector of a million
// blocks is one node. The tree is walked by move.go, the loops that move bytes are in
// kernel.go; pack.go, cursor.go and external.go are what callers see of them.
//
// What does not live here: operators on elements (mpi/reduce), and what travels beside
// the packed bytes (mpi/core). The package is pure: no I/O, no clock and no state but a
// cache of what reflection found out.
package datatype
