package udp

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// An outbox gathers packets for one socket, so that one system call sends many. Packets are sent in
// the order in which they were added, even if the socket was full.
type outbox struct {
	socket dgram.Socket
	batch  [sendBatch]dgram.Packet
	owners [sendBatch]*conn // the connections that learn if their packet was too big; nil: none
	n      int              // packets in batch
	sent   int              // number of those already sent
	kept   int              // how many of batch have all their bytes in memory of the outbox
	room   []byte           // headers and sealed packets
	used   int
	pieces [][]byte // of all packets
	spare  []byte   // copies made by keep
	full   bool     // the socket was full
}

const (
	// outRoom is memory for the packets of a batch that are assembled here.
	outRoom = 512 << 10
	// headMax is the largest size of the bytes before and behind the data of a packet.
	headMax = 512
)

func (o *outbox) init(s dgram.Socket) {
	o.socket = s
	o.room = make([]byte, outRoom)
	o.pieces = make([][]byte, 0, sendBatch*dgram.PiecesMax)
}

// fits reports whether another packet that needs this much room can be added now.
func (o *outbox) fits(room int) bool { return o.n < len(o.batch) && o.used+room <= len(o.room) }

// rest is all memory that is left, in which a packet can be built before its size is
// known; take then makes it the packet's.
func (o *outbox) rest() []byte { return o.room[o.used:] }

// take returns memory for a packet; it must fit.
func (o *outbox) take(room int) []byte {
	b := o.room[o.used : o.used : o.used+room]
	o.used += room
	return b
}

// put adds a packet whose pieces were appended to o.pieces[from:].
func (o *outbox) put(p dgram.Packet, owner *conn) {
	o.batch[o.n], o.owners[o.n] = p, owner
	o.n++
}

// flush sends as much as the socket takes. It reports false if something is left,
// which is kept.
func (o *outbox) flush(tooBig func(*conn)) bool {
	for o.sent < o.n {
		n, err := o.socket.Send(o.batch[o.sent:o.n])
		for i := o.sent; i < o.sent+n; i++ {
			if o.batch[i].TooBig && o.owners[i] != nil {
				tooBig(o.owners[i])
			}
		}
		o.sent += n
		if err != nil {
			o.full = o.sent < o.n
			if o.full {
				o.keep()
				return false
			}
		}
	}
	clear(o.batch[:o.n])
	clear(o.owners[:o.n])
	clear(o.pieces)
	o.pieces = o.pieces[:0]
	o.n, o.sent, o.kept, o.used, o.full = 0, 0, 0, 0, false
	o.spare = o.spare[:0]
	return true
}

// keep copies unsent data out of the memory of consumers: before the socket takes
// more, they may get it back, and a remote side may lose its right to read it. A
// packet in one piece is already in room.
func (o *outbox) keep() {
	for i := max(o.sent, o.kept); i < o.n; i++ {
		p := &o.batch[i]
		if len(p.Pieces) == 1 {
			continue
		}
		from := len(o.spare)
		for _, piece := range p.Pieces {
			o.spare = append(o.spare, piece...)
		}
		p.Pieces = append(p.Pieces[:0], o.spare[from:])
	}
	o.kept = o.n
}
