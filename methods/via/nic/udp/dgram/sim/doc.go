// Package simdgram is a network of datagrams in memory: dgram.Device over a
// simulated world (internal/sim). It keeps the contract of package dgram to the
// letter and otherwise does what software on top does not expect: datagrams are
// lost, come twice, late, out of order, or with wrong bits; queues and buffers
// overflow; paths get narrower, with and without a word; hosts vanish and come back;
// anybody can claim to be anybody. What is left to chance comes from the world's
// seed, and replaying a seed replays the run exactly.
//
// In the Stepped mode time moves only when the test steps the world; the world and
// everything over it belong to one goroutine. In the Real mode, for tests with
// goroutines, virtual time follows the wall clock, devices can sleep, and
// different devices may have different owners.
//
// One file per part: network.go joins hosts and breaks what joins them, host.go
// is a machine, path.go the way from one to another, device.go and socket.go are
// what an owner sees, recv.go how datagrams arrive, sleep.go is for the Real mode.
//
// What lives elsewhere: the event queue, links and bottlenecks (internal/sim), the
// seam (udp/dgram), and the tests that every device passes (dgram/dgramtest).
package simdgram
