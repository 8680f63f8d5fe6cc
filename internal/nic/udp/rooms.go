package udp

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/message"
)

// A room is memory for the packets that one read of a socket returns. A message that is complete in
// it is lent to its receive without a copy. Until all such loans are back, sockets use another
// room.
type room struct {
	dev   *Device
	mem   []byte
	holds int  // messages lent
	away  bool // a socket does not use it until they are given back
	next  *room
}

var _ message.Loan = (*room)(nil)

// newRoom returns a room that is free.
func (d *Device) newRoom() *room {
	r := d.rooms
	if r == nil {
		return &room{dev: d, mem: make([]byte, dgram.RoomMax)}
	}
	d.rooms, r.next = r.next, nil
	return r
}

// loan returns the room as a message.Loan, or nil if roomsLentMax rooms are lent. A single lent
// message keeps the whole room.
func (r *room) loan() message.Loan {
	if r.holds == 0 && r.dev.roomsLent >= roomsLentMax {
		return nil
	}
	return r
}

// Hold implements message.Loan.
func (r *room) Hold() {
	if r.holds++; r.holds == 1 {
		r.dev.roomsLent++
	}
}

// Free implements message.Loan.
func (r *room) Free() {
	if r.holds--; r.holds > 0 {
		return
	}
	d := r.dev
	d.roomsLent--
	if r.away {
		r.away = false
		d.rooms, r.next = r, d.rooms
	}
}

// replace gives a socket another room if messages in its present one are lent.
func (d *Device) replace(i int) {
	if r := d.arriving[i]; r.holds > 0 {
		r.away = true
		d.use(i, d.newRoom())
	}
}

// use makes a room the one for the arrivals of an index.
func (d *Device) use(i int, r *room) {
	d.arriving[i], d.arrivals[i].Buf = r, r.mem
}
