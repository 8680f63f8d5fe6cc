// Package coretest tries what moves MPI messages: with generated programs of several ranks,
// checked against the rules of the standard (MPI-4.1, 3.5).
//
// A World is several engines in one process, over whatever method of bmi its Fabric names:
// each rank in a goroutine of its own, or, in simulated time, all of them stepped by one.
// A Program is what the ranks do, drawn from a seed; every program ends, whichever of the
// outcomes that the standard allows comes about. Running one gives a History, and Check
// tells whether the standard allows it.
//
// Plain is the slow and obvious twin of an engine: lists that are walked in order. It shows
// that programs end and that Check is content, and, with a Flaw, that Check sees.
//
// The package is for tests only. Those that use it are in mpi/core, model_*_test.go.
package coretest
