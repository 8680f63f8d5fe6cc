package wire

import (
	"encoding/binary"
	"fmt"
)

// InitPayload is the sealed part of an Init. It always has InitPayloadBytes.
//
//	 0       16        17         18            20
//	+-------+---------+----------+-------------+---------+------+-------+
//	| token | ciphers | name len | private len | private | name | zeros |
//	+-------+---------+----------+-------------+---------+------+-------+
type InitPayload struct {
	Token   Token   // of a Reset by the sender
	Ciphers Ciphers // fast ones of the sender
	Private []byte  // for the accepting side; in a parsed payload a view of it
	Name    string  // the sender's address; empty if it cannot be connected to
}

// Ciphers are a set of ciphers for packets, in all modes except ModeInsecure.
type Ciphers uint8

const (
	// CipherChaCha is ChaCha20-Poly1305, which is never slow.
	CipherChaCha Ciphers = 1 << iota
	// CipherAES is AES-256-GCM, the fastest one if the CPU has AES instructions.
	CipherAES
	ciphersEnd
)

func (c Ciphers) String() string {
	switch c {
	case 0:
		return "none"
	case CipherChaCha:
		return "chacha20-poly1305"
	case CipherAES:
		return "aes-256-gcm"
	case CipherChaCha | CipherAES:
		return "chacha20-poly1305,aes-256-gcm"
	}
	return fmt.Sprintf("Ciphers(%#x)", uint8(c))
}

// Lengths of an InitPayload, in bytes.
const (
	InitPayloadBytes = 408
	PrivateMax       = 256
	NameMax          = 128

	initPayloadFixed = 20
)

// If the payload and the additions of Noise (a public key and a tag) or of a
// checksum do not fit into an INIT, one of these lengths is negative and the
// build fails.
var (
	_ [InitSealed - (InitPayloadBytes + 32 + 16)]struct{}
	_ [InitStaticBytes - InitClear - (InitPayloadBytes + 2*32 + 2*16)]struct{}
	_ [InitPayloadBytes - (initPayloadFixed + PrivateMax + NameMax)]struct{}
)

// Append appends the payload to b, and cuts fields to their limits.
func (m *InitPayload) Append(b []byte) []byte {
	private, name := m.Private[:min(len(m.Private), PrivateMax)], m.Name[:min(len(m.Name), NameMax)]
	end := len(b) + InitPayloadBytes
	b = append(b, m.Token[:]...)
	b = append(b, byte(m.Ciphers), byte(len(name)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(private)))
	b = append(b, private...)
	b = append(b, name...)
	return append(b, make([]byte, end-len(b))...)
}

// ParseInitPayload reads a payload.
func ParseInitPayload(b []byte) (m InitPayload, err error) {
	if err := sized(b, InitPayloadBytes); err != nil {
		return InitPayload{}, err
	}
	private, name := int(binary.LittleEndian.Uint16(b[18:])), int(b[17])
	m.Ciphers = Ciphers(b[16])
	if private > PrivateMax || name > NameMax || m.Ciphers >= ciphersEnd {
		return InitPayload{}, ErrInvalid
	}
	rest := b[initPayloadFixed:]
	if !allZero(rest[private+name:]) {
		return InitPayload{}, ErrInvalid
	}
	copy(m.Token[:], b)
	m.Private = rest[:private:private]
	m.Name = string(rest[private : private+name])
	return m, nil
}

func (m InitPayload) String() string {
	return fmt.Sprintf("ciphers=%v private=%x name=%q", m.Ciphers, m.Private, m.Name)
}
