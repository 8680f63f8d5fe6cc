package wire

import (
	"encoding/binary"
	"fmt"
)

// Refused answers an Init that cannot lead to a connection. It is the same in every version, and
// proves nothing: any host that sees the nonce can make one.
//
//	 0      1      2         4    8       16
//	+------+------+---------+----+-------+
//	| kind | code | version | to | nonce |
//	+------+------+---------+----+-------+
type Refused struct {
	Code    Code
	Version uint16 // of the sender
	To      uint32 // from of the Init
	Nonce   uint64 // of the Init
}

// Code is the reason.
type Code uint8

const (
	CodeKey     Code = 1 // the Init was not made with the sender's key
	CodeVersion Code = 2 // the sender speaks another version
	CodeNobody  Code = 3 // no device listens there
	CodeBusy    Code = 4 // no room at present
	CodeUnknown Code = 5 // the sender does not know the static key in the Init

	// codeUses and the following codes tell the Mode of the sender, in answer to an Init of
	// another mode.
	codeUses Code = 16
)

// CodeUses is the code with which a side of a mode refuses an Init of another mode.
func CodeUses(own Mode) Code { return codeUses + Code(own) }

// Uses is the Mode of a sender that refused an Init of another mode; ok is false if the code
// does not tell.
func (c Code) Uses() (m Mode, ok bool) {
	if c <= codeUses {
		return 0, false
	}
	m = Mode(c - codeUses)
	return m, m.valid()
}

func (c Code) String() string {
	if m, ok := c.Uses(); ok {
		return "mode " + m.String()
	}
	switch c {
	case CodeKey:
		return "key"
	case CodeVersion:
		return "version"
	case CodeNobody:
		return "nobody listens"
	case CodeBusy:
		return "busy"
	case CodeUnknown:
		return "unknown"
	}
	return fmt.Sprintf("Code(%d)", uint8(c))
}

// RefusedBytes is the length of a REFUSED.
const RefusedBytes = 16

// If a REFUSED were longer than the shortest packet that can cause one, this length would be
// negative and the build would fail.
var _ [InitFixed - RefusedBytes]struct{}

// Append appends the packet to b.
func (m *Refused) Append(b []byte) []byte {
	b = append(b, byte(KindRefused), byte(m.Code))
	b = binary.LittleEndian.AppendUint16(b, m.Version)
	b = binary.LittleEndian.AppendUint32(b, m.To)
	return binary.LittleEndian.AppendUint64(b, m.Nonce)
}

// ParseRefused reads a packet. An unknown code may be from a later version.
func ParseRefused(b []byte) (m Refused, err error) {
	if err := starts(b, KindRefused, RefusedBytes); err != nil {
		return Refused{}, err
	}
	if err := sized(b, RefusedBytes); err != nil {
		return Refused{}, err
	}
	m = Refused{
		Code:    Code(b[1]),
		Version: binary.LittleEndian.Uint16(b[2:]),
		To:      binary.LittleEndian.Uint32(b[4:]),
		Nonce:   binary.LittleEndian.Uint64(b[8:]),
	}
	if m.Code == 0 {
		return Refused{}, ErrInvalid
	}
	return m, nil
}

func (m Refused) String() string {
	return fmt.Sprintf("REFUSED code=%v version=%d to=%#x nonce=%#x", m.Code, m.Version, m.To, m.Nonce)
}
