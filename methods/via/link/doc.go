// Package link carries packets between two endpoints, over connections of the VI
// Architecture. It is the only part of the VIA method that knows package vipl.
//
//	links     the NIC of an endpoint, Poll, and the interface that Poll calls
//	link      one connection, from Connect or Accept to Close
//	channel   the VI of a connection, and its receives
//	arrive    a packet on its way in
//	packet    outgoing packets, and the memory that they gather
//	send      a packet on its way out: the header, sequence numbers, credits
//	control   control packets that wait for a credit or for room
//	resume    what goes on when the NIC has room again, or credits come back
//	memory    memory that the peer may access
//	rdma      reading and writing the peer's
//	event     connect requests, and how connections begin and end
//
// What the packets mean is the consumer's business, except for the header: its
// sequence number, peer id and credits are written and checked here. The formats are
// in methods/via/wire, the rules for credits in methods/via/flow.
package link
