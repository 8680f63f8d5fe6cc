package wire

import (
	"encoding/binary"
	"fmt"
)

// Init requests a connection. Its length depends only on its mode (Mode.InitBytes), so
// that no answer is larger and its length reveals nothing. The first InitFixed bytes are
// the same in every version, so that a mismatch can be reported.
//
//	 0      1      2        4      8       16     18     24       56
//	+------+------+--------+------+-------+------+------+--------+-----------+
//	| kind | mode | version| from | nonce | port | zero | cookie | sealed    |
//	+------+------+--------+------+-------+------+------+--------+-----------+
//
// Sealed holds an InitPayload. In ModeInsecure zeros follow the payload, and the last
// four bytes are a CRC-32C of the whole packet. In all other modes Sealed is the first
// message of a Noise handshake whose prologue is the InitClear bytes before it.
type Init struct {
	Mode    Mode
	Version uint16 // of the packet format
	From    uint32 // the sender's id of the connection, not 0
	Nonce   uint64 // random, identifies the attempt; answers repeat it
	Port    uint16 // UDP port of the sender's data lane
	Cookie  Cookie // from the latest Retry; zero before that
	Sealed  []byte // Mode.InitBytes() - InitClear bytes; in a parsed packet a view of it
}

// A Cookie proves to its maker that the host that returns it receives packets at the
// address for which it was made.
type Cookie [32]byte

// A Token proves to the other side of a connection that a Reset comes from the device at
// this end.
type Token [16]byte

// Lengths of an INIT, in bytes.
const (
	InitBytes  = 512
	InitFixed  = 16 // the same in every version
	InitClear  = 56 // the part that is not sealed
	InitSealed = InitBytes - InitClear

	// InitStaticBytes is the length if the sender identifies itself by a static key,
	// which adds a sealed key and a tag.
	InitStaticBytes = InitBytes + 32 + 16
)

// Append appends the packet to b. Sealed must have all its bytes, or none if the
// caller appends them.
func (m *Init) Append(b []byte) []byte {
	b = append(b, byte(KindInit), byte(m.Mode))
	b = binary.LittleEndian.AppendUint16(b, m.Version)
	b = binary.LittleEndian.AppendUint32(b, m.From)
	b = binary.LittleEndian.AppendUint64(b, m.Nonce)
	b = binary.LittleEndian.AppendUint16(b, m.Port)
	b = append(b, 0, 0, 0, 0, 0, 0)
	b = append(b, m.Cookie[:]...)
	return append(b, m.Sealed...)
}

// ParseInit reads a packet. For another version it reads only the first InitFixed bytes
// and does not check them.
func ParseInit(b []byte) (m Init, err error) {
	if err := starts(b, KindInit, InitFixed); err != nil {
		return Init{}, err
	}
	m = Init{
		Mode:    Mode(b[1]),
		Version: binary.LittleEndian.Uint16(b[2:]),
		From:    binary.LittleEndian.Uint32(b[4:]),
		Nonce:   binary.LittleEndian.Uint64(b[8:]),
	}
	if m.Version != Version {
		return m, nil
	}
	if err := sized(b, m.Mode.InitBytes()); err != nil {
		return Init{}, err
	}
	if m.From == 0 || !m.Mode.valid() || !allZero(b[18:24]) {
		return Init{}, ErrInvalid
	}
	m.Port = binary.LittleEndian.Uint16(b[16:])
	copy(m.Cookie[:], b[24:])
	m.Sealed = b[InitClear:]
	return m, nil
}

func (m Init) String() string {
	return fmt.Sprintf("INIT version=%d mode=%v from=%#x nonce=%#x port=%d cookie=%t",
		m.Version, m.Mode, m.From, m.Nonce, m.Port, m.Cookie != Cookie{})
}

// starts checks the kind of a packet and that it has at least n bytes.
func starts(b []byte, kind Kind, n int) error {
	switch {
	case len(b) == 0:
		return ErrShort
	case Kind(b[0]) != kind:
		return ErrKind
	case len(b) < n:
		return ErrShort
	}
	return nil
}

// sized checks that a packet has exactly n bytes.
func sized(b []byte, n int) error {
	switch {
	case len(b) < n:
		return ErrShort
	case len(b) > n:
		return ErrLong
	}
	return nil
}

func allZero(b []byte) bool {
	for _, one := range b {
		if one != 0 {
			return false
		}
	}
	return true
}
