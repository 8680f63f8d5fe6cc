package wire

import (
	"encoding/binary"
	"fmt"
)

// ResponsePayload is the sealed part of a Response. It always has ResponsePayloadBytes.
//
//	 0         1        2            3      4      8      10     16      32
//	+---------+--------+------------+------+------+------+------+-------+--------+-------+
//	| verdict | cipher | reason len | zero | from | port | zero | token | reason | zeros |
//	+---------+--------+------------+------+------+------+------+-------+--------+-------+
type ResponsePayload struct {
	Rejected bool    // verdict 1: the sender's consumer rejected it
	Cipher   Ciphers // one of the Init's, or CipherChaCha; 0 if insecure or rejected
	From     uint32  // as in the Response; 0 exactly if it rejects
	Port     uint16  // as in the Response
	Token    Token   // of a Reset by the sender
	Reason   []byte  // of a rejection; in a parsed payload a view of it
}

// Lengths of a ResponsePayload, in bytes.
const (
	ResponsePayloadBytes = 160
	ReasonMax            = 128

	responsePayloadFixed = 32
)

// As with an INIT: these lengths are negative if the payload does not fit.
var (
	_ [ResponseSealed - (ResponsePayloadBytes + 32 + 16)]struct{}
	_ [ResponsePayloadBytes - (responsePayloadFixed + ReasonMax)]struct{}
)

// Append appends the payload to b, and cuts a reason to its limit.
func (m *ResponsePayload) Append(b []byte) []byte {
	reason := m.Reason[:min(len(m.Reason), ReasonMax)]
	end := len(b) + ResponsePayloadBytes
	verdict := byte(0)
	if m.Rejected {
		verdict = 1
	}
	b = append(b, verdict, byte(m.Cipher), byte(len(reason)), 0)
	b = binary.LittleEndian.AppendUint32(b, m.From)
	b = binary.LittleEndian.AppendUint16(b, m.Port)
	b = append(b, 0, 0, 0, 0, 0, 0)
	b = append(b, m.Token[:]...)
	b = append(b, reason...)
	return append(b, make([]byte, end-len(b))...)
}

// ParseResponsePayload reads a payload.
func ParseResponsePayload(b []byte) (m ResponsePayload, err error) {
	if err := sized(b, ResponsePayloadBytes); err != nil {
		return ResponsePayload{}, err
	}
	reason := int(b[2])
	if b[0] > 1 || reason > ReasonMax || b[3] != 0 || !allZero(b[10:16]) || !allZero(b[responsePayloadFixed+reason:]) {
		return ResponsePayload{}, ErrInvalid
	}
	m = ResponsePayload{
		Rejected: b[0] == 1,
		Cipher:   Ciphers(b[1]),
		From:     binary.LittleEndian.Uint32(b[4:]),
		Port:     binary.LittleEndian.Uint16(b[8:]),
		Reason:   b[responsePayloadFixed : responsePayloadFixed+reason],
	}
	copy(m.Token[:], b[16:])
	switch {
	case m.Rejected != (m.From == 0), !m.Rejected && reason != 0:
		return ResponsePayload{}, ErrInvalid
	case m.Cipher != 0 && m.Cipher != CipherChaCha && m.Cipher != CipherAES:
		return ResponsePayload{}, ErrInvalid
	}
	return m, nil
}

func (m ResponsePayload) String() string {
	if m.Rejected {
		return fmt.Sprintf("rejected reason=%q", m.Reason)
	}
	return fmt.Sprintf("accepted cipher=%v from=%#x port=%d", m.Cipher, m.From, m.Port)
}
