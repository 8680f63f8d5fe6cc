// Package perf measures messages through bmi, and the limits of the machine
// beside them.
//
// A measurement has two sides. The client (Client) asks a server (Server, run
// by `bmi serve`, or by a child process of `bmi perf`) to run its half of a
// test, and both then execute the same number of steps: no clock runs on the
// server, and none per message on the client. Steps come in batches, each timed
// as a whole; a Result holds the median and the 99th percentile of the batches.
//
// The files: size.go reads and writes sizes; result.go is what a measurement
// ends with; batch.go turns times into numbers; control.go is the format of a
// request to the server; lane.go is the timed loops, client.go and server.go
// drive them; limit.go, with limitsocket.go, and follower.go are the two sides of
// measuring the bare machine, through line.go (a cache line), socket.go (TCP) and
// datagram.go (UDP; socketside.go: what both have in common); pin.go and child.go
// deal with cores and processes.
//
// What lives elsewhere: what differs from method to method for a service is in
// the folder service; package mpi is measured by mpiperf, with the budgets and batches
// of this package; the commands and their tables are in internal/cli, the
// comparison with other libraries is in bench, how to read the numbers is in
// docs/performance.
package perf
