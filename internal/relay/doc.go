// Package relay is a bad network between two real sides, for tests: a process in the
// middle that receives UDP datagrams on its own sockets and forwards them, some
// lost, twice, late, out of order or damaged, and at a limited rate.
//
// Clients send to the relay instead of the server. For each port and client the
// relay has a socket that sends to the server, so that answers find their way. Each
// side may have several ports (a Port each), and both see the relay's address. A
// datagram that contains its own ports then contains the wrong ones; so choose the
// same ports for the relay as for the server, on another address.
//
// relay.go has the sockets, queue.go the datagrams that wait for their time,
// options.go the faults. Random decisions come from a seed; the timing of kernels
// and clocks does not. The twin in virtual time, whose seeds replay exactly, is
// internal/nic/udp/dgram/sim.
package relay
