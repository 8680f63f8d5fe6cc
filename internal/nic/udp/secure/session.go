package secure

import (
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// A Session protects the packets of one connection, in both directions.
type Session interface {
	// Room is the capacity that head needs for a head and a body of the given
	// sizes, so that Seal need not allocate.
	Room(head, body int) int

	// Overhead is how many bytes a sealed packet is longer than its head and
	// body.
	Overhead() int

	// Seal makes one packet from a head, which starts with the PacketLen bytes of
	// a wire.Packet, and the pieces of a body that follow it. It sets the
	// packet's number, and appends the pieces to be sent to vec. head is
	// overwritten up to its capacity. body is only read, but the pieces may point
	// into it, so it must not change until they are sent. With ErrExhausted
	// nothing was appended and the connection must end.
	Seal(vec [][]byte, head []byte, body [][]byte) ([][]byte, error)

	// Open checks a packet, which it may overwrite, and returns the part between
	// its header and its tag or checksum, as a view of the packet. Only an
	// authentic packet that has not arrived before is opened. The errors are
	// wire.ErrShort, wire.ErrDamaged and those of this package. After
	// ErrForgeries the connection must end; the others concern only the packet.
	Open(packet []byte) (payload []byte, err error)

	// Stats returns the counts.
	Stats() Stats
}

// Stats are the counts of a Session.
type Stats struct {
	Sealed   uint64 // packets
	Opened   uint64 // packets
	Forged   uint64 // not authentic, or damaged
	Replayed uint64 // arrived before
	Old      uint64 // too old to tell
	// Epochs is how many keys were used, over both directions.
	Epochs uint64
}

// numberAt is the offset of the packet's number in its header.
const numberAt = 8

// base is the part common to all sessions.
type base struct {
	stats  Stats
	window window
	number uint64 // of the next packet that is sealed
}

// take numbers a packet.
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

// check reads the number of a packet, which has at least overhead bytes behind
// its header, and checks it before the packet is authenticated.
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

// opened records an authentic packet.
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
