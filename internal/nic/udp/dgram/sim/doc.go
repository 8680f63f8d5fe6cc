// Package simdgram is a network of datagrams in memory: dgram.Device over a
// simulated world (internal/sim). It keeps the contract of package dgram exactly,
// and otherwise does what its user does not expect: datagrams are lost, come twice,
// late, out of order, or with wrong bits; queues and buffers overflow; paths get
// narrower, with and without notice; hosts vanish and come back; addresses are
// forged. All randomness comes from the world's seed, and replaying a seed replays
// the run exactly.
//
// In the Stepped mode time moves only when the test steps the world; the world and
// everything over it belong to one goroutine. In the Real mode, for tests with
// goroutines, virtual time follows the wall clock, devices can sleep, and different
// devices may have different owners.
//
// network.go joins hosts and cuts them off, host.go is a machine, path.go the way
// from one to another, device.go and socket.go are the owner's view, recv.go is for
// arriving datagrams, sleep.go for the Real mode.
//
// The event queue, links and bottlenecks are in internal/sim, the seam in udp/dgram,
// and the tests that every device passes in dgram/dgramtest.
package simdgram
