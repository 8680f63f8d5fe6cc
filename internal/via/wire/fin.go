package wire

import (
	"encoding/binary"
	"fmt"
)

// Fin says that its sender has moved its part of a large message and touches
// the other side's memory no more.
type Fin struct {
	// Op is the operation of the packet's receiver: from the RTS if the
	// message's receiver sends the Fin, from the CTS if its sender does.
	Op     uint64
	Status FinStatus
}

// FinStatus tells how the sender's part went.
type FinStatus uint32

const (
	// FinMoved: the whole part was moved.
	FinMoved FinStatus = iota
	// FinTruncated: the receive was too short, nothing was moved. The sender
	// of the message has done its duty.
	FinTruncated
	finStatusEnd
)

const finLen = 16

// Append appends the body of the packet.
func (m Fin) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, m.Op)
	b = binary.LittleEndian.AppendUint32(b, uint32(m.Status))
	return binary.LittleEndian.AppendUint32(b, 0)
}

// ParseFin reads a body.
func ParseFin(b []byte) (Fin, error) {
	if err := exactly(b, finLen); err != nil {
		return Fin{}, err
	}
	m := Fin{Op: binary.LittleEndian.Uint64(b), Status: FinStatus(binary.LittleEndian.Uint32(b[8:]))}
	if m.Status >= finStatusEnd || binary.LittleEndian.Uint32(b[12:]) != 0 {
		return Fin{}, ErrInvalid
	}
	return m, nil
}

func (s FinStatus) String() string {
	switch s {
	case FinMoved:
		return "moved"
	case FinTruncated:
		return "truncated"
	}
	return fmt.Sprintf("FinStatus(%d)", uint32(s))
}

func (m Fin) String() string { return fmt.Sprintf("op=%#x status=%v", m.Op, m.Status) }
