package wire

import "fmt"

// Kind is the first byte of every packet.
type Kind uint8

const (
	// KindInit, KindRetry, KindResponse and KindRefused are the handshake.
	KindInit Kind = iota + 1
	KindRetry
	KindResponse
	KindRefused
	// KindPacket carries the messages of a connection, and its acks.
	KindPacket
	// KindReset tells that this side does not know a connection.
	KindReset
	kindEnd
)

// KindOf is the kind of a packet; ok is false for an empty datagram and for a
// kind that this version does not know.
func KindOf(packet []byte) (kind Kind, ok bool) {
	if len(packet) == 0 {
		return 0, false
	}
	kind = Kind(packet[0])
	return kind, kind.Valid()
}

// Valid reports whether this version knows the kind.
func (k Kind) Valid() bool { return k > 0 && k < kindEnd }

func (k Kind) String() string {
	switch k {
	case KindInit:
		return "INIT"
	case KindRetry:
		return "RETRY"
	case KindResponse:
		return "RESPONSE"
	case KindRefused:
		return "REFUSED"
	case KindPacket:
		return "PACKET"
	case KindReset:
		return "RESET"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}
