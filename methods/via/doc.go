// Package via is the VIA method: BMI messages over the VI Architecture.
//
// It runs on package vipl only, and so over every NIC provider below
// methods/via/nic. Packets are in methods/via/wire, matching is matchbits', the
// state of a connection is peer's; here is what joins them:
//
//	driver, method    opening, Poll, closing
//	remote, link      a peer, and the VI that is in use with it
//	connect,          carrying out what the peer machine decides
//	handshake, timers
//	packet, send      outgoing packets, credits, queues
//	recv, eager,      incoming packets: matched, kept until a receive comes,
//	early, unexpected or handed to the endpoint
//	rendezvous, large messages that are announced and moved by RDMA, by both
//	move              sides at once, or in DATA packets
//	self              messages of an endpoint to itself
//	cancel            Cancel, DropAddr
//
// docs/protocol.md describes the protocol, docs/ownership.md who owns which
// memory when.
package via
