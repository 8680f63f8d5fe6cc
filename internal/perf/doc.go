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
// drive them; line.go and limit.go measure the bare machine; pin.go and child.go
// deal with cores and processes.
//
// What lives elsewhere: the commands and their tables are in internal/cli, the
// comparison with other libraries is in bench, how to read the numbers is in
// docs/performance.
package perf
