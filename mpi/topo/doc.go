// Package topo is the arithmetic of virtual topologies (MPI-4.1, chapter 8): who is whose
// neighbour among the ranks of a communicator that has a grid ([Cart], [DimsCreate]), a graph
// that every process knows ([Graph]), or one of which each process knows its own edges
// ([DistGraph]).
//
// Everything here is local and pure; values do not change once made and may be used by many
// goroutines. Where an operation of the standard needs communication, such as creating a
// distributed graph from edges given anywhere, this package has what goes before and after it
// (edge.go). Communicators, and the collectives among neighbours that follow the order in
// [Neighborhood], are package mpi's. Start with topology.go.
package topo
