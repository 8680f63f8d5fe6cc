package wire

import (
	"encoding/binary"
	"fmt"
)

// LinkReq is the private data of a connect request on the NIC's level: enough
// for the other side to know who asks before it opens a VI. Its fixed part is
// the same in every version.
type LinkReq struct {
	Version uint32 // of the packet format
	Session uint64 // of the sender's process
	Attempt uint64 // number of this attempt to connect
	Name    string // the sender's address; empty if it cannot be connected to
}

const linkReqFixed = 20

// Append appends the private data.
func (m *LinkReq) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, m.Version)
	b = binary.LittleEndian.AppendUint64(b, m.Session)
	b = binary.LittleEndian.AppendUint64(b, m.Attempt)
	return append(b, m.Name...)
}

// ParseLinkReq reads private data. It does not judge the version, and of another
// one only the fixed part, so that the refusal can say what is wrong.
func ParseLinkReq(b []byte) (LinkReq, error) {
	if len(b) < linkReqFixed {
		return LinkReq{}, ErrShort
	}
	m := LinkReq{
		Version: binary.LittleEndian.Uint32(b),
		Session: binary.LittleEndian.Uint64(b[4:]),
		Attempt: binary.LittleEndian.Uint64(b[12:]),
	}
	switch {
	case m.Session == 0 || m.Attempt == 0:
		return LinkReq{}, ErrInvalid
	case m.Version != Version:
		return m, nil // what follows may mean something else
	case len(b) > linkReqFixed+NameMax:
		return LinkReq{}, ErrLong
	}
	m.Name = string(b[linkReqFixed:])
	return m, nil
}

func (m LinkReq) String() string {
	return fmt.Sprintf("version=%d session=%#x attempt=%#x name=%q", m.Version, m.Session, m.Attempt, m.Name)
}
