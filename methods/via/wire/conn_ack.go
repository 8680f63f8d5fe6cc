package wire

import (
	"encoding/binary"
	"fmt"
)

// ConnAck answers a ConnReq.
type ConnAck struct {
	Version uint32 // of the packet format that the sender speaks
	Reason  uint32 // 0: accepted; else a peer.Reason why not, and what follows Latest is 0
	Session uint64 // of the sender's process
	Attempt uint64 // of the ConnReq
	Latest  uint64 // newest attempt of the sender's own; it and all before are given up
	PeerID  uint32 // use this id when sending to me
	Credits uint32 // receives that I have posted for you
	MTU     uint32 // the largest packet that I take, in bytes
	Eager   uint32 // the largest message that I take without RTS, in bytes
	Flags   ConnFlags
}

const connAckLen = 52

// Append appends the body of the packet.
func (m *ConnAck) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, m.Version)
	b = binary.LittleEndian.AppendUint32(b, m.Reason)
	b = binary.LittleEndian.AppendUint64(b, m.Session)
	b = binary.LittleEndian.AppendUint64(b, m.Attempt)
	b = binary.LittleEndian.AppendUint64(b, m.Latest)
	b = binary.LittleEndian.AppendUint32(b, m.PeerID)
	b = binary.LittleEndian.AppendUint32(b, m.Credits)
	b = binary.LittleEndian.AppendUint32(b, m.MTU)
	b = binary.LittleEndian.AppendUint32(b, m.Eager)
	return binary.LittleEndian.AppendUint32(b, uint32(m.Flags))
}

// ParseConnAck reads a body.
func ParseConnAck(b []byte) (ConnAck, error) {
	if len(b) < connAckLen {
		return ConnAck{}, ErrShort
	}
	m := ConnAck{
		Version: binary.LittleEndian.Uint32(b),
		Reason:  binary.LittleEndian.Uint32(b[4:]),
		Session: binary.LittleEndian.Uint64(b[8:]),
		Attempt: binary.LittleEndian.Uint64(b[16:]),
		Latest:  binary.LittleEndian.Uint64(b[24:]),
		PeerID:  binary.LittleEndian.Uint32(b[32:]),
		Credits: binary.LittleEndian.Uint32(b[36:]),
		MTU:     binary.LittleEndian.Uint32(b[40:]),
		Eager:   binary.LittleEndian.Uint32(b[44:]),
		Flags:   ConnFlags(binary.LittleEndian.Uint32(b[48:])),
	}
	if m.Reason != 0 {
		return m, nil // a refusal, perhaps from another version
	}
	if m.Version != Version {
		return ConnAck{}, ErrInvalid
	}
	if err := checkConn(m.Session, m.PeerID, m.Credits, m.MTU, m.Eager, m.Flags); err != nil {
		return ConnAck{}, err
	}
	return m, exactly(b, connAckLen)
}

func (m ConnAck) String() string {
	return fmt.Sprintf("version=%d reason=%d session=%#x attempt=%#x latest=%#x id=%d credits=%d mtu=%d eager=%d flags=%#x",
		m.Version, m.Reason, m.Session, m.Attempt, m.Latest, m.PeerID, m.Credits, m.MTU, m.Eager, uint32(m.Flags))
}
