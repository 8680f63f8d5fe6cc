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
	PeerID  uint32 // use this id when sending to me
	Credits uint32 // receives that I have posted for you
	MTU     uint32 // the largest packet that I take, in bytes
	Eager   uint32 // the largest message that I take without RTS, in bytes
	Flags   ConnFlags
	Name    string // my address; empty if I cannot be connected to
}

// ConnFlags are capabilities of the sender on this connection.
type ConnFlags uint32

const (
	// ConnRDMARead and ConnRDMAWrite: the sender's NIC can read, or write,
	// memory of the other side over this connection. What both sides can do
	// is used.
	ConnRDMARead ConnFlags = 1 << iota
	ConnRDMAWrite
	connFlagsEnd
)

// NameMax bounds the name, in bytes.
const NameMax = 128

const connReqFixed = 48

// Append appends the body of the packet.
func (m *ConnReq) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, m.Version)
	b = binary.LittleEndian.AppendUint64(b, m.Session)
	b = binary.LittleEndian.AppendUint64(b, m.Attempt)
	b = binary.LittleEndian.AppendUint32(b, m.PeerID)
	b = binary.LittleEndian.AppendUint32(b, m.Credits)
	b = binary.LittleEndian.AppendUint32(b, m.MTU)
	b = binary.LittleEndian.AppendUint32(b, m.Eager)
	b = binary.LittleEndian.AppendUint32(b, uint32(m.Flags))
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
		PeerID:  binary.LittleEndian.Uint32(b[20:]),
		Credits: binary.LittleEndian.Uint32(b[24:]),
		MTU:     binary.LittleEndian.Uint32(b[28:]),
		Eager:   binary.LittleEndian.Uint32(b[32:]),
		Flags:   ConnFlags(binary.LittleEndian.Uint32(b[36:])),
	}
	if m.Version != Version {
		return m, nil // what follows may mean something else
	}
	n := binary.LittleEndian.Uint32(b[40:])
	if err := checkConn(m.Session, m.PeerID, m.Credits, m.MTU, m.Eager, m.Flags); err != nil {
		return ConnReq{}, err
	}
	if n > NameMax || binary.LittleEndian.Uint32(b[44:]) != 0 {
		return ConnReq{}, ErrInvalid
	}
	if err := exactly(b[connReqFixed:], int(n)); err != nil {
		return ConnReq{}, err
	}
	m.Name = string(b[connReqFixed:])
	return m, nil
}

// checkConn checks what both sides of a handshake tell about themselves.
func checkConn(session uint64, peerID, credits, mtu, eager uint32, flags ConnFlags) error {
	const peerIDMax = 1<<20 - 1
	switch {
	case session == 0,
		peerID == 0 || peerID > peerIDMax,
		credits < CreditsMin || credits > CreditsMax,
		mtu < MTUMin || mtu > MTUMax,
		eager > EagerBytesLimit,
		flags >= connFlagsEnd:
		return ErrInvalid
	}
	return nil
}

// Limits of what a side may announce.
const (
	CreditsMin = 8       // fewer, and the reserves leave nothing for messages
	MTUMin     = 256     // bytes; a handshake packet fits in any case
	MTUMax     = 1 << 20 // bytes
)

func (m ConnReq) String() string {
	return fmt.Sprintf("version=%d session=%#x attempt=%#x id=%d credits=%d mtu=%d eager=%d flags=%#x name=%q",
		m.Version, m.Session, m.Attempt, m.PeerID, m.Credits, m.MTU, m.Eager, uint32(m.Flags), m.Name)
}
