package wire

import (
	"encoding/binary"
	"fmt"
)

// Version is the version of the protocol in this package.
const Version = 3

// Lengths of a HELLO, in bytes: of the part before the card, and the largest card.
const (
	HelloBytes = 40
	CardMax    = 4096
)

// Hello is the first packet on a connection: the sender, the intended receiver, and the sender's
// window. Layout:
//
//	offset  size  field
//	     0     2  version, Version
//	     2     2  flags, 0
//	     4     4  window, in bytes
//	     8    16  id of the sender
//	    24    16  id of the process that the sender means to reach
//	    40     -  card of the sender, text, to the end
type Hello struct {
	Version uint16
	Flags   uint16
	Window  uint32
	ID, To  [16]byte
	Card    string // at most CardMax bytes, or the peer refuses the packet
}

func (h Hello) String() string {
	return fmt.Sprintf("HELLO version=%d window=%d id=%x to=%x card=%q", h.Version, h.Window, h.ID, h.To, h.Card)
}

// Append appends the packet to dst.
func (h Hello) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, h.Version)
	dst = binary.LittleEndian.AppendUint16(dst, h.Flags)
	dst = binary.LittleEndian.AppendUint32(dst, h.Window)
	dst = append(dst, h.ID[:]...)
	dst = append(dst, h.To[:]...)
	return append(dst, h.Card...)
}

// ParseHello reads a HELLO. If it has another version, ParseHello returns ErrVersion and a Hello
// with only the version.
func ParseHello(b []byte) (Hello, error) {
	if len(b) < HelloBytes {
		return Hello{}, fmt.Errorf("%w: %v has %d bytes, want at least %d", ErrLength, KindHello, len(b), HelloBytes)
	}
	h := Hello{Version: binary.LittleEndian.Uint16(b)}
	if h.Version != Version {
		return h, fmt.Errorf("%w: the peer speaks %d, this is %d; use the same release on both sides", ErrVersion, h.Version, Version)
	}
	if h.Flags = binary.LittleEndian.Uint16(b[2:]); h.Flags != 0 {
		return Hello{}, reserved(KindHello)
	}
	if n := len(b) - HelloBytes; n > CardMax {
		return Hello{}, fmt.Errorf("%w: the card in %v has %d bytes, the limit is %d", ErrLength, KindHello, n, CardMax)
	}
	h.Window = binary.LittleEndian.Uint32(b[4:])
	copy(h.ID[:], b[8:])
	copy(h.To[:], b[24:])
	h.Card = string(b[HelloBytes:])
	return h, nil
}
