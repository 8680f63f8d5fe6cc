// Package bulk is the protocol of large messages: those that are announced, and moved once their receive is known. Part of
// a message may be read by the receiver and the rest written by the sender, both at the same time.
//
//	sender                                     receiver
//	Announce  ── RTS ──────────────────────▶   Accept: it moves [0, mine) itself
//	Ask       ◀─────────────────────── CTS ──  if that is not all of it
//	Gave, Moved: [from, size)                  Gave, Moved: [0, mine), by RDMA
//	          ── DATA, or RDMA ────────────▶   Arrive, if in DATA packets
//	Finish    ◀─────────────────────── FIN ──  it has moved its part, if it has one
//	          ── FIN ──────────────────────▶   Finish
//
// A Transfer is one side of one message: events go in, actions come out. It has no I/O and no memory of the message. Its owner
// sends the packets, gives the NIC its descriptors, and opens and closes memory. What the peer sends is checked here.
//
// testdata has transcripts, which can be read without knowing Go; docs/internals/models/bulk.pml is a model of the rules. docs/internals/protocols/via.md
// describes the packets.
package bulk
