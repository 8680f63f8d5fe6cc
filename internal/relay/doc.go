// Package relay is a bad network between two real sides, for tests: a process in
// the middle that takes UDP datagrams on sockets of its own and passes them on,
// some lost, twice, late, out of order or damaged, and at a limited rate.
//
// Clients send to the relay in place of the server; a socket of the relay's for each
// port and client sends to the server, so that answers find their way. Either
// side may have several ports (a Port each), and both see the relay's address.
// A datagram that names its own ports inside names the wrong ones: choose the
// relay's ports like the server's, on another address.
//
// relay.go is the sockets, queue.go what waits for its time, options.go what is
// done to datagrams. What is left to chance comes from a seed; what the kernels
// and the clock do does not. The twin in virtual time, whose seeds replay exactly,
// is methods/via/nic/udp/dgram/sim.
package relay
