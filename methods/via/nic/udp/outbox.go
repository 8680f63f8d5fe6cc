package udp

import (
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram"
)

// An outbox gathers packets for one socket, so that one call of the system sends
// many. What was put into it is sent in that order, however long the socket is full.
type outbox struct {
	socket dgram.Socket
	batch  [sendBatch]dgram.Packet
	owners [sendBatch]*conn // who hears that a packet was too big; nil: nobody
	n      int              // packets in batch
	sent   int              // of those
	kept   int              // of those, that lie in memory of the outbox alone
	room   []byte           // heads and sealed packets
	used   int
	pieces [][]byte // of all packets
	spare  []byte   // what keep copied
	full   bool     // the socket took no more
}

const (
	// outRoom is memory for the packets of a batch that are put together here.
	outRoom = 512 << 10
	// headMax is what stands before the data of a packet, at most, and behind it.
	headMax = 512
)

func (o *outbox) init(s dgram.Socket) {
	o.socket = s
	o.room = make([]byte, outRoom)
	o.pieces = make([][]byte, 0, sendBatch*dgram.PiecesMax)
}

// fits tells whether another packet that needs so much room can be put in now.
func (o *outbox) fits(room int) bool { return o.n < len(o.batch) && o.used+room <= len(o.room) }

// take is memory for a packet; it fits.
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

// flush hands everything to the socket, as far as it takes it. It reports false if
// something is left, which is kept.
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

// keep copies what is left and lies in memory of consumers: they may have it back, and
// a remote side may have lost its right to read it, before the socket takes more. A
// packet in one piece lies in room.
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
