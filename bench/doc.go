// Command bench compares Viaduct with the bare machine and with other libraries,
// in one run, and writes a table, a JSON file and plots to docs/performance,
// where README.md explains the method. bench/run.sh builds what it needs.
//
// The parts: main.go is the order of events; contender.go starts other programs,
// and ours.go, mpi.go, ucx.go, fabric.go and pipe.go know one kind each; rounds.go
// collects what they measure. crowd.go, idle.go and counts.go measure what is no
// race between two processes. rows.go turns numbers into the table of aims,
// report.go and plots.go write it all down.
//
// The C programs of the comparison are in bench/peers; measuring our own methods
// is internal/perf; the demo is bench/demo.sh.
package main
