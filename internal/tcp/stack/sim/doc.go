// Package simstack is a TCP network in memory and in virtual time: stack.Stack
// over a simulated world (internal/sim). It keeps the contract of package stack
// exactly, and otherwise does what its user does not expect: bytes come in pieces
// of any size, buffers are small, events come late, in any order, and without a
// reason, connects are lost, streams are reset, hosts crash or fall silent. All
// randomness comes from the world's seed.
//
// Time moves only when the test steps the world. The world and everything over it
// belong to one goroutine, so no stack of this package can sleep.
//
// network.go and host.go are the machines. listener.go and dial.go open streams,
// flow.go moves bytes in one direction, stream.go is the owner's view of a stream,
// and end.go ends streams.
//
// The event queue, links and partitions are in internal/sim, the tests that every
// stack passes in stacktest, and the method in methods/tcp.
package simstack
