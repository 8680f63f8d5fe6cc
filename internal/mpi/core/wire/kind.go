package wire

//go:generate go tool stringer -type=Kind -linecomment -output=kind_string.go

// A Kind identifies the type of a packet. It is the message's tag in bmi.
type Kind uint32

// Kinds of packets.
const (
	KindHello     Kind = iota + 1 // HELLO
	KindEager                     // EAGER
	KindRTS                       // RTS
	KindCTS                       // CTS
	KindAck                       // ACK
	KindCredit                    // CREDIT
	KindCancel                    // CANCEL
	KindCancelled                 // CANCELLED
	KindRevoke                    // REVOKE
	KindBye                       // BYE
	KindCall                      // CALL
	KindReturn                    // RETURN
)

// Valid tells whether a packet of this kind exists.
func (k Kind) Valid() bool { return k >= KindHello && k <= KindReturn }
