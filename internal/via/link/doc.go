// Package link carries packets between two endpoints, over connections of the VI
// Architecture. It is the only part of the VIA method that knows package vipl.
//
//	links     opening a NIC, and Poll
//	event     connect requests, and how connections begin and end
//	resume    what goes on when the NIC has room again, or credits come back
//	arrive    a packet on its way in
//	open      a connection, from Connect or Accept to Close
//	control   control packets that wait for a credit or for room, and CREDIT packets
//	channel   the VI of a connection, and its receives
//	rdma      reading and writing the peer's memory
//	memory    memory that the peer may access
//	send      a packet on its way out: the header, sequence numbers, credits
//	break     errors of the NIC
//	link      the records, and the interface that Poll calls
//	packet    outgoing packets, and the memory that they gather
//
// Each file uses only those below it. What the packets mean is the consumer's business, except for the header: its
// sequence number, peer id and credits are written and checked here. The formats are
// in internal/via/wire, the rules for credits in internal/via/flow.
package link
