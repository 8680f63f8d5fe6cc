// Command bench compares Viaduct with the bare machine and with other libraries, in one run. It writes a table, a JSON
// file and plots to docs/performance, where README.md explains the method. bench/run.sh builds what it needs.
//
// main.go runs everything in order, or one of the parts in groups.go. contender.go starts other programs; ours.go, oursmpi.go, mpi.go, ucx.go, fabric.go
// and pipe.go know one kind each, within the host and over TCP and UDP on loopback. oursudp.go is for our method over
// UDP, with a key and without, pair.go for tools that are a pair of programs. rounds.go collects the results. crowd.go,
// idle.go and counts.go measure things other than the speed between two processes, samplesort.go a whole MPI program;
// simulated.go reads results of tests in virtual time; inturn.go measures methods in other processes. rows.go computes
// the table of aims, with rowssmall.go, rowstcp.go, rowsudp.go, rowsplugin.go, rowsmpi.go, rowsoversubscribed.go,
// rowsonesided.go, rowsfiles.go and rowsbusy.go for its parts. report.go and reportstates.go write everything, with the
// charts of plots.go, which plot draws.
//
// states.go tells whether the two processors are two cores, and smallrounds.go measures small messages in both cases.
// oversubscribed.go has more ranks than processors, start.go (rows: rowsstart.go) jobs of a thousand. onesided.go has
// one-sided operations and partitioned messages, files.go files that ranks write and read together. busy.go measures beside
// busy processes and threads.go with many
// goroutines, both with the ping-pong in exchange.go, exchangebmi.go and exchangempi.go.
//
// pvfs.go measures the file system, with pvfsservers.go, orangefs.go, pvfsnames.go and pvfsidle.go; rowspvfs.go has its
// rows. pvfsstrangers.go and strangers.go measure the cost of attacks for other clients. checkpoint.go measures
// checkpoints on it, and rowscheckpoint.go has their rows.
//
// The C programs of the comparison are in bench/peers, the measurements of our own methods in internal/perf, and the demo
// is bench/demo.sh.
package main
