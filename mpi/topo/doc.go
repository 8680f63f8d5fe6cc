// Package topo is the arithmetic of virtual topologies (MPI-4.1, chapter 8): the neighbours of each
// rank in a grid ([Cart], [DimsCreate]), in a graph that every process knows ([Graph]), or in one
// of which each process knows its own edges ([DistGraph]).
//
// Everything here is local and pure; values are immutable and may be used by several goroutines. If
// an operation of the standard needs communication, such as creating a distributed graph from edges
// given anywhere, this package has the steps before and after it (edge.go). Package mpi has the
// communicators and the neighbourhood collective operations, which follow the order in
// [Neighborhood]. Start with topology.go.
package topo
