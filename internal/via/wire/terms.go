package wire

import (
	"encoding/binary"
	"fmt"
)

// Terms are what each side of a handshake tells about itself, in CONN_REQ and CONN_ACK.
type Terms struct {
	PeerID  uint32 // use this id when sending to me
	Credits uint32 // receives that I have posted for you
	MTU     uint32 // the largest packet that I take, in bytes
	Eager   uint32 // the largest message that I take without RTS, in bytes
	Flags   ConnFlags
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

// Limits of what a side may announce.
const (
	CreditsMin = 8       // fewer, and the reserves leave nothing for messages
	MTUMin     = 256     // bytes; a handshake packet fits in any case
	MTUMax     = 1 << 20 // bytes
)

const termsLen = 20

func (t *Terms) append(b []byte) []byte {
	for _, word := range [...]uint32{t.PeerID, t.Credits, t.MTU, t.Eager, uint32(t.Flags)} {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	return b
}

// parseTerms reads termsLen bytes. It does not judge them.
func parseTerms(b []byte) Terms {
	return Terms{
		PeerID:  binary.LittleEndian.Uint32(b),
		Credits: binary.LittleEndian.Uint32(b[4:]),
		MTU:     binary.LittleEndian.Uint32(b[8:]),
		Eager:   binary.LittleEndian.Uint32(b[12:]),
		Flags:   ConnFlags(binary.LittleEndian.Uint32(b[16:])),
	}
}

func (t *Terms) check() error {
	const peerIDMax = 1<<20 - 1
	switch {
	case t.PeerID == 0 || t.PeerID > peerIDMax,
		t.Credits < CreditsMin || t.Credits > CreditsMax,
		t.MTU < MTUMin || t.MTU > MTUMax,
		t.Eager > EagerBytesLimit,
		t.Flags >= connFlagsEnd:
		return ErrInvalid
	}
	return nil
}

func (t Terms) String() string {
	return fmt.Sprintf("id=%d credits=%d mtu=%d eager=%d flags=%#x", t.PeerID, t.Credits, t.MTU, t.Eager, uint32(t.Flags))
}
