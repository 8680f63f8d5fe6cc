// Package mpiperf measures package mpi from within a job, in the manner of the OSU
// micro-benchmarks: messages between two ranks, every collective operation by size and by
// number of ranks, one-sided operations, and files.
//
// All ranks of a job call Run with the same Plan. A point, which is a test with one size on
// some ranks, is warmed up and then measured in batches of iterations. A rank's time for an
// iteration is the mean of a batch, so that clocks cost nothing. Rank 0 gathers the times of
// all ranks and reports a Result. Operations in which some ranks do not wait for the others (a
// broadcast, whose root may be ahead by any number of iterations) are timed one by one instead,
// with a barrier after each that is not counted.
//
// Tune measures the algorithms of collective operations, and writes a table of the fastest.
//
// tests.go is the table of tests, and plan.go the plan. run.go drives the ranks through it, and
// batches.go through one point. messages.go, partitioned.go, moving.go, combining.go, onesided.go
// and files.go are the tests themselves. pattern.go is the contents of messages, which Plan.Check checks. result.go
// computes the result of a point, and table.go prints it for people. tune.go is Tune.
//
// The command line is in package command below. Budgets, batches and sizes are those of package
// perf, which measures package bmi the same way. C programs that do the same with other
// libraries are in bench/peers.
package mpiperf
