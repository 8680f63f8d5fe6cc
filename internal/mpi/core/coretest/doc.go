// Package coretest tests the engine of MPI messages with generated programs of several ranks, whose
// results are checked against the rules of the standard (MPI-4.1, 3.5).
//
// A World is several engines in one process, over the method of bmi that its Fabric names. Each
// rank is a goroutine, or, in simulated time, one goroutine steps all ranks. A Program is the
// actions of the ranks, drawn from a seed. Every program ends, whichever of the outcomes that the
// standard allows comes about. Running one gives a History, and Check tells whether the standard
// allows it.
//
// Plain is a slow and obvious model of an engine: lists that are searched in order. It shows that
// programs end and that Check accepts correct results; with a Flaw it shows that Check finds
// errors.
//
// The package is only for tests, which are in internal/mpi/core, model_*_test.go.
package coretest
