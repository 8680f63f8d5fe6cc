// Package group is the arithmetic of process groups (MPI-4.1, 7.3): ordered sets of processes in
// which every process has a rank. A process is any comparable value, so the package knows nothing
// of connections, communicators or messages.
//
// A [Group] is immutable, so goroutines may share it without locks. A derived group shares the
// table of processes of the original, and adds only a selection: three numbers if the processes lie
// at equal distances, otherwise four bytes for each. The index from process to rank is built when
// it is first needed.
//
// Communicators are in package mpi, and the coordinates of ranks in package topo. Start with
// group.go; set.go has the operations on two groups, ranks.go those that select ranks.
package group
