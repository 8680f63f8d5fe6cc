// Package perf measures messages through bmi, and the limits of the machine for
// comparison.
//
// A measurement has two sides. The client (Client) asks a server (Server, run by `bmi
// serve`, or by a child process of `bmi perf`) to run its half of a test. Both then
// execute the same number of steps. The server uses no clock, and the client none per
// message. Steps come in batches, each timed as a whole; a Result holds the median and
// the 99th percentile of the batches.
//
// size.go reads and writes sizes; result.go has the results; batch.go computes them
// from times; control.go is the format of a request to the server; lane.go has the
// timed loops, which client.go and server.go drive. limit.go, limitsocket.go and
// follower.go measure the bare machine, with line.go (a cache line), socket.go (TCP),
// datagram.go (UDP) and socketside.go (common to both). pin.go and child.go are for
// cores and processes.
//
// Folder service has what differs from method to method. Package mpiperf measures
// package mpi with the budgets and batches of this package. The commands and their
// tables are in internal/cli, the comparison with other libraries in bench.
// docs/performance says how to read the numbers.
package perf
