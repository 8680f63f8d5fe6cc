// Package ops has the operations of an endpoint of the VIA method: sends and receives, the
// packets that they are made of, and what ends them. The protocol of a large message is that
// of internal/via/bulk, and messages meet their receives in internal/inbox.
//
//	poll      New, and Poll
//	peer      what peers tell of their connections (peers.User)
//	arrive    packets, and finished descriptors (link.Consumer)
//	cancel    Cancel
//	end       operations that end with their connection, or with the endpoint
//	part      messages of several packets that arrive
//	recv      receives
//	send      sends, and the queue of those that wait
//	self      messages of an endpoint to itself
//	large     large messages: their packets
//	choose    whether they move by RDMA or in packets
//	move      moving their bytes, by RDMA or in DATA packets
//	memory    their memory, and the end of operations that use it
//	file      messages from files
//	exposed   memory that peers access without messages
//	record    from the beginning of an operation to its end
//	ops       the records
//	handles   numbers for operations, in packets
//	limits    limits
//
// Each file uses only those below it. docs/internals/protocols/via.md describes the protocol, docs/internals/ownership.md
// who owns which memory when.
package ops
