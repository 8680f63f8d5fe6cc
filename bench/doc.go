// Command bench compares Viaduct with the bare machine and with other libraries,
// in one run, and writes a table, a JSON file and plots to docs/performance,
// where README.md explains the method. bench/run.sh builds what it needs.
//
// The parts: main.go is the order of events; contender.go starts other programs,
// and ours.go, oursmpi.go, mpi.go, ucx.go, fabric.go and pipe.go know one kind each, within the
// host and over TCP and UDP on loopback (oursudp.go: ours over UDP, with a key and
// without; pair.go: tools that are a pair of programs);
// rounds.go collects what they measure. crowd.go, idle.go and counts.go measure
// what is no race between two processes, samplesort.go a whole program of MPI, simulated.go reads what tests found out in
// virtual time; inturn.go measures methods in other processes. rows.go, and
// rowstcp.go, rowsudp.go, rowsplugin.go and rowsmpi.go for what goes over TCP, over UDP, through
// plugins and by package mpi, turn numbers into the table of aims; report.go and plots.go write it all
// down.
// pvfs.go measures the file system: pvfsservers.go, orangefs.go, pvfsnames.go and pvfsidle.go are its parts, and
// rowspvfs.go its rows; pvfsstrangers.go and strangers.go what attacks cost others.
//
// The C programs of the comparison are in bench/peers; measuring our own methods
// is internal/perf; the demo is bench/demo.sh.
package main
