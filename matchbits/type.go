package matchbits

// Type is the kind of packet, 4 bits on the wire. The values are part of the
// wire format and never change their meaning.
type Type uint8

const (
	// TypeNICConnectReq and TypeNICConnectAck are for connects on the NIC level.
	// Providers do that themselves; the values are reserved.
	TypeNICConnectReq Type = iota + 1 // NIC_CONNECT_REQ
	TypeNICConnectAck                 // NIC_CONNECT_ACK
	// TypeConnReq and TypeConnAck join two peers once their NICs are connected.
	TypeConnReq // CONN_REQ
	TypeConnAck // CONN_ACK
	// TypeExpected is a message for a posted receive.
	TypeExpected // EXPECTED
	// TypeUnexpected is a message that needs no posted receive.
	TypeUnexpected // UNEXPECTED
	// TypeRTS asks to send a large message (rendezvous).
	TypeRTS // RTS
	// TypeCTS answers an RTS with where the message may go.
	TypeCTS // CTS
	// TypeData is one fragment of a rendezvous message.
	TypeData // DATA
	// TypeFin says that a rendezvous is over.
	TypeFin // FIN
	// TypeCredit returns credits when no other packet goes that way.
	TypeCredit // CREDIT
	// TypeCancel ends the connection in an orderly way.
	TypeCancel // CANCEL
	// TypeKeepAlive shows that the sender is alive.
	TypeKeepAlive // KEEP_ALIVE
)

const typeLast = TypeKeepAlive

// Valid reports whether t is one of the constants.
func (t Type) Valid() bool { return t-1 < typeLast }

// Connects reports whether t belongs to connection setup, before the receiver of
// the packet has given its sender a peer id.
func (t Type) Connects() bool { return t.Valid() && t <= TypeConnAck }
