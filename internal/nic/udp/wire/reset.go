package wire

import (
	"encoding/binary"
	"fmt"
)

// Reset answers a Packet of a connection that the sender does not know, so that
// the other side notices at once that its peer has restarted. A Reset is never
// answered.
//
//	 0      1      4    8       24
//	+------+------+----+-------+
//	| kind | zero | to | token |
//	+------+------+----+-------+
type Reset struct {
	// To is the connection id in the unknown Packet: the id of the sender of the
	// Reset, not the receiver's own.
	To uint32
	// Token is the token that the receiver got for that id in the handshake.
	Token Token
}

// ResetBytes is the length of a RESET, less than that of any PACKET.
const ResetBytes = 24

// Append appends the packet to b.
func (m *Reset) Append(b []byte) []byte {
	b = append(b, byte(KindReset), 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, m.To)
	return append(b, m.Token[:]...)
}

// ParseReset reads a packet.
func ParseReset(b []byte) (m Reset, err error) {
	if err := starts(b, KindReset, ResetBytes); err != nil {
		return Reset{}, err
	}
	if err := sized(b, ResetBytes); err != nil {
		return Reset{}, err
	}
	m.To = binary.LittleEndian.Uint32(b[4:])
	copy(m.Token[:], b[8:])
	if m.To == 0 || !allZero(b[1:4]) {
		return Reset{}, ErrInvalid
	}
	return m, nil
}

func (m Reset) String() string { return fmt.Sprintf("RESET to=%#x", m.To) }
