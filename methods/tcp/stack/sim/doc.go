// Package simstack is a TCP network in memory and in virtual time: stack.Stack
// over a simulated world (internal/sim). It keeps the contract of package stack to
// the letter and otherwise does what software on top does not expect: bytes come
// in pieces of any size, buffers are small, events come late, in any order, and
// for nothing, connects are lost, streams are reset, hosts crash or fall silent.
// What is left to chance comes from the world's seed.
//
// Time moves only when the test steps the world; the world and everything over it
// belong to one goroutine, so no stack of this package can sleep.
//
// One file per part: network.go and host.go are the machines, listener.go and
// dial.go how streams begin, flow.go how bytes travel in one direction,
// stream.go what the owner of a stream sees, end.go how streams end.
//
// What lives elsewhere: the event queue, links and partitions (internal/sim), the
// tests that every stack passes (stacktest), and the method (methods/tcp).
package simstack
