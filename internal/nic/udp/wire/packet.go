package wire

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Lanes of a connection.
const (
	LanePriority = 0 // small messages, control
	LaneData     = 1 // the rest
	Lanes        = 2
)

// PacketLen is the length of the header of a Packet, in bytes.
const PacketLen = 16

// Lengths of what follows the payload of a Packet, in bytes: a tag on a
// connection with keys, a checksum on one without.
const (
	TagLen = 16
	SumLen = 4
)

// A Packet is the plain header of a KindPacket. On a connection with keys the
// rest is sealed, with the header as additional data and Number as nonce.
//
//	 0      1      2      4          8          16
//	+------+------+------+----------+----------+- - - - -+- - - - - +
//	| kind | lane | zero | to       | number   | payload | tag, sum |
//	+------+------+------+----------+----------+- - - - -+- - - - - +
type Packet struct {
	Lane uint8 // < Lanes
	// To is the receiver's id of the connection; never 0.
	To uint32
	// Number counts the packets that the sender sent on the connection, over both
	// lanes, from 0. No number is used twice.
	Number uint64
}

// Append appends the header to b.
func (p Packet) Append(b []byte) []byte {
	b = append(b, byte(KindPacket), p.Lane, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, p.To)
	return binary.LittleEndian.AppendUint64(b, p.Number)
}

// ParsePacket reads the header and returns what follows it.
func ParsePacket(b []byte) (p Packet, payload []byte, err error) {
	switch {
	case len(b) > 0 && Kind(b[0]) != KindPacket:
		return Packet{}, nil, ErrKind
	case len(b) < PacketLen:
		return Packet{}, nil, ErrShort
	}
	p = Packet{
		Lane:   b[1],
		To:     binary.LittleEndian.Uint32(b[4:]),
		Number: binary.LittleEndian.Uint64(b[8:]),
	}
	if p.Lane >= Lanes || b[2] != 0 || b[3] != 0 || p.To == 0 {
		return Packet{}, nil, ErrInvalid
	}
	return p, b[PacketLen:], nil
}

func (p Packet) String() string {
	return fmt.Sprintf("%v lane=%d to=%#x number=%d", KindPacket, p.Lane, p.To, p.Number)
}

// Sum continues the checksum of a packet in pieces; sum is 0 before the first
// piece. Its table is made at the first call: that takes longer than all else that this
// package does when a program starts.
func Sum(sum uint32, piece []byte) uint32 {
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), piece)
}

// AppendSum appends the checksum of a packet of a connection without keys. It is
// CRC-32C and detects accidental damage, but not attacks.
func AppendSum(b []byte, sum uint32) []byte { return binary.LittleEndian.AppendUint32(b, sum) }

// CheckSum checks a whole packet that ends with its checksum and removes that.
func CheckSum(packet []byte) ([]byte, error) {
	n := len(packet) - SumLen
	if n < 0 {
		return nil, ErrShort
	}
	if Sum(0, packet[:n]) != binary.LittleEndian.Uint32(packet[n:]) {
		return nil, ErrDamaged
	}
	return packet[:n], nil
}
