// Package group is the arithmetic of process groups (MPI-4.1, 7.3): ordered sets of
// processes in which a process has a rank. A process is whatever comparable value names it,
// so the package knows of no connection, communicator or message.
//
// A [Group] never changes, so everybody may share one, without locks; what is derived from a
// group shares its table of processes and adds only which of them, in which order: three
// numbers if they lie at equal distances, four bytes for each otherwise. What finds a rank by
// its process is built when first asked for.
//
// Communicators are package mpi's; which rank has which coordinates is package topo's. Start
// with group.go; set.go has the operations on two groups, ranks.go those that pick ranks.
package group
