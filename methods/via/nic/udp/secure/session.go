package secure

import (
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// A Session protects the packets of one connection, in both directions.
type Session interface {
	// Room is the capacity that Seal wants head to have for a head and a body
	// of so many bytes, so that it need not allocate.
	Room(head, body int) int

	// Overhead is by how many bytes a sealed packet is longer than its head
	// and body.
	Overhead() int

	// Seal makes one packet of a head, which starts with the PacketLen bytes
	// of a wire.Packet, and pieces of a body that follow it, and appends the
	// pieces that are to be sent to vec. It sets the packet's number. head is
	// overwritten up to its capacity; body is only read, but the pieces may
	// point into it, so that it must stay as it is until they are sent. With
	// ErrExhausted nothing was appended and the connection is at its end.
	Seal(vec [][]byte, head []byte, body [][]byte) ([][]byte, error)

	// Open checks a packet, which it may overwrite, and returns what stands
	// between its header and its tag or checksum, a view of it. Only a packet
	// that is authentic and has not arrived before is opened. The errors are
	// wire.ErrShort, wire.ErrDamaged and those of this package; after
	// ErrForgeries the connection is at its end, others are about the packet.
	Open(packet []byte) (payload []byte, err error)

	// Stats tells what happened.
	Stats() Stats
}

// Stats are what a Session counted.
type Stats struct {
	Sealed   uint64 // packets
	Opened   uint64 // packets
	Forged   uint64 // that were not authentic, or damaged
	Replayed uint64 // that had arrived before
	Old      uint64 // that were too old to tell
	// Epochs is how many keys were used, over both directions.
	Epochs uint64
}

// numberAt is where the number of a packet stands in its header.
const numberAt = 8

// base is what all sessions have in common.
type base struct {
	stats  Stats
	window window
	number uint64 // of the next packet that is sealed
}

// take gives a packet its number.
func (b *base) take(head []byte) (number uint64, err error) {
	number = b.number
	if number >= PacketsMax {
		return 0, ErrExhausted
	}
	b.number++
	b.stats.Sealed++
	binary.LittleEndian.PutUint64(head[numberAt:], number)
	return number, nil
}

// check finds the number of a packet, which has at least overhead bytes behind
// its header, and judges it before its authenticity is known.
func (b *base) check(packet []byte, overhead int) (number uint64, err error) {
	if len(packet) < wire.PacketLen+overhead {
		return 0, wire.ErrShort
	}
	number = binary.LittleEndian.Uint64(packet[numberAt:])
	if number >= PacketsMax {
		return 0, b.forged()
	}
	err = b.window.check(number)
	switch err {
	case ErrReplayed:
		b.stats.Replayed++
	case ErrOld:
		b.stats.Old++
	}
	return number, err
}

// forged counts a packet that is not authentic.
func (b *base) forged() error {
	b.stats.Forged++
	if b.stats.Forged >= ForgeriesMax {
		return ErrForgeries
	}
	return ErrForged
}

// opened commits a packet that is authentic.
func (b *base) opened(number uint64) {
	b.window.commit(number)
	b.stats.Opened++
}

// Stats implements Session.
func (b *base) Stats() Stats { return b.stats }

// newSession makes the session of a connection.
func newSession(mode wire.Mode, cipher wire.Ciphers, s secrets) Session {
	if mode == wire.ModeInsecure {
		return &plain{}
	}
	return newSealed(cipher, s, epochBits)
}
