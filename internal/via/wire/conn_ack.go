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
	Terms
}

const connAckLen = 32 + termsLen

// Append appends the body of the packet.
func (m *ConnAck) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, m.Version)
	b = binary.LittleEndian.AppendUint32(b, m.Reason)
	b = binary.LittleEndian.AppendUint64(b, m.Session)
	b = binary.LittleEndian.AppendUint64(b, m.Attempt)
	b = binary.LittleEndian.AppendUint64(b, m.Latest)
	return m.Terms.append(b)
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
		Terms:   parseTerms(b[32:]),
	}
	if m.Reason != 0 {
		return m, nil // a refusal, perhaps from another version
	}
	if m.Version != Version || m.Session == 0 {
		return ConnAck{}, ErrInvalid
	}
	if err := m.Terms.check(); err != nil {
		return ConnAck{}, err
	}
	return m, exactly(b, connAckLen)
}

func (m ConnAck) String() string {
	return fmt.Sprintf("version=%d reason=%d session=%#x attempt=%#x latest=%#x %v",
		m.Version, m.Reason, m.Session, m.Attempt, m.Latest, m.Terms)
}
