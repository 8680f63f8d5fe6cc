// Package mpiperf measures package mpi from within a job, in the manner of the OSU
// micro-benchmarks: messages between two ranks, and every collective operation by size and
// by number of ranks.
//
// All ranks of a job call Run with the same Plan. A point, which is a test with a size on
// some ranks, is warmed up and then measured in batches of iterations. What a rank took for
// an iteration is the mean of a batch, so that clocks cost nothing; rank 0 gathers what all
// took and reports a Result. Operations in which some ranks do not wait for the others (a
// broadcast, whose root may be ahead by any number of them) are timed one by one instead, with
// a barrier after each, which is not counted.
//
// The files: tests.go is the table of tests; plan.go what is to be measured; run.go drives
// the ranks through it, and batches.go through one point; messages.go, moving.go and
// combining.go are the tests themselves; pattern.go is the contents of messages, which
// Plan.Check has compared; result.go is what comes of a point, and table.go how people read it.
//
// What lives elsewhere: the command line is in package command below; budgets, batches and
// sizes are those of package perf, which measures package bmi the same way; programs in C that
// do the same with other libraries are in bench/peers.
package mpiperf
