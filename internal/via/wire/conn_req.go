package wire

import (
	"encoding/binary"
	"fmt"
)

// ConnReq is the first packet on a fresh VI, from the side that asked for it.
// Its fixed part is the same in every version, so that a mismatch can be told.
type ConnReq struct {
	Version uint32 // of the packet format
	Session uint64 // of the sender's process; another one is another life
	Attempt uint64 // number of this attempt to connect
	Terms
	Name string // my address; empty if I cannot be connected to
}

// NameMax bounds the name, in bytes.
const NameMax = 128

const connReqFixed = 48

// Append appends the body of the packet.
func (m *ConnReq) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, m.Version)
	b = binary.LittleEndian.AppendUint64(b, m.Session)
	b = binary.LittleEndian.AppendUint64(b, m.Attempt)
	b = m.Terms.append(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Name)))
	b = binary.LittleEndian.AppendUint32(b, 0)
	return append(b, m.Name...)
}

// ParseConnReq reads a body. It does not judge the version.
func ParseConnReq(b []byte) (ConnReq, error) {
	if len(b) < connReqFixed {
		return ConnReq{}, ErrShort
	}
	m := ConnReq{
		Version: binary.LittleEndian.Uint32(b),
		Session: binary.LittleEndian.Uint64(b[4:]),
		Attempt: binary.LittleEndian.Uint64(b[12:]),
		Terms:   parseTerms(b[20:]),
	}
	if m.Version != Version {
		return m, nil // what follows may mean something else
	}
	n := binary.LittleEndian.Uint32(b[40:])
	if err := m.Terms.check(); err != nil {
		return ConnReq{}, err
	}
	if m.Session == 0 || n > NameMax || binary.LittleEndian.Uint32(b[44:]) != 0 {
		return ConnReq{}, ErrInvalid
	}
	if err := exactly(b[connReqFixed:], int(n)); err != nil {
		return ConnReq{}, err
	}
	m.Name = string(b[connReqFixed:])
	return m, nil
}

func (m ConnReq) String() string {
	return fmt.Sprintf("version=%d session=%#x attempt=%#x %v name=%q", m.Version, m.Session, m.Attempt, m.Terms, m.Name)
}
