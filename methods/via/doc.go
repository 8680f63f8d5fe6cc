// Package via is the VIA method: BMI messages over the VI Architecture.
//
// It runs on package vipl only, and so over every NIC provider below
// methods/via/nic. Packets are in methods/via/wire, receives and what waits for them
// in methods/inbox, the state of a connection in peer, that of a large message in
// methods/via/bulk; here is what joins them:
//
//	driver, method    opening, Poll, closing
//	remote, link      a peer, and the VI that is in use with it
//	connect,          carrying out what the peer machine decides
//	handshake, timers
//	packet, send      outgoing packets, credits, queues
//	recv              receives
//	arrive, eager     incoming packets, and the messages that they bring
//	rendezvous,       large messages: their packets, their memory, and moving them by
//	move, large       RDMA or in DATA packets
//	self              messages of an endpoint to itself
//	cancel            Cancel, DropAddr
//
// docs/protocol.md describes the protocol, docs/ownership.md who owns which
// memory when.
package via
