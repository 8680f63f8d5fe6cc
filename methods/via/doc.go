// Package via is the VIA method: BMI messages over the VI Architecture.
//
// It has no protocol of its own, but joins the rooms that have one: methods/via/link
// carries packets over any NIC provider below methods/via/nic; methods/via/wire defines
// them; peer is the state of a connection, methods/via/bulk that of a large message;
// methods/inbox holds receives and what waits for them. The files:
//
//	driver, method    opening, Poll, closing
//	remote            a peer
//	connect,          carrying out what the peer machine decides
//	handshake, timers
//	send              sends, and the queue of those that wait
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
