package wire

import (
	"encoding/binary"
	"fmt"
)

// Retry answers an Init without a cookie, or with one that is too old: the Init
// must be sent again with this cookie. The sender of the Retry stores nothing.
//
//	 0      1      4    8       16       48
//	+------+------+----+-------+--------+
//	| kind | zero | to | nonce | cookie |
//	+------+------+----+-------+--------+
type Retry struct {
	To     uint32 // from of the Init
	Nonce  uint64 // of the Init
	Cookie Cookie // to be returned, not zero
}

// RetryBytes is the length of a RETRY.
const RetryBytes = 48

// Append appends the packet to b.
func (m *Retry) Append(b []byte) []byte {
	b = append(b, byte(KindRetry), 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, m.To)
	b = binary.LittleEndian.AppendUint64(b, m.Nonce)
	return append(b, m.Cookie[:]...)
}

// ParseRetry reads a packet.
func ParseRetry(b []byte) (m Retry, err error) {
	if err := starts(b, KindRetry, RetryBytes); err != nil {
		return Retry{}, err
	}
	if err := sized(b, RetryBytes); err != nil {
		return Retry{}, err
	}
	m.To = binary.LittleEndian.Uint32(b[4:])
	m.Nonce = binary.LittleEndian.Uint64(b[8:])
	copy(m.Cookie[:], b[16:])
	if m.To == 0 || m.Cookie == (Cookie{}) || !allZero(b[1:4]) {
		return Retry{}, ErrInvalid
	}
	return m, nil
}

func (m Retry) String() string {
	return fmt.Sprintf("RETRY to=%#x nonce=%#x cookie=%x", m.To, m.Nonce, m.Cookie[:4])
}
