package matchbits

import (
	"errors"
	"fmt"
)

// Bits are the match bits of one packet. Most significant first:
//
//	 63    60 59     56 55      52 51            32 31           0
//	┌────────┬─────────┬──────────┬────────────────┬──────────────┐
//	│ type 4 │credits 4│reserved 4│   peer id 20   │    tag 32    │
//	└────────┴─────────┴──────────┴────────────────┴──────────────┘
//
// The peer id is the one that the receiver of the packet assigned to its sender,
// so that a receiver finds its own record without a search. Any packet to the
// right peer can carry credits; they say nothing about the message. Credits and
// the reserved bits take no part in matching.
//
// The zero Bits are not a valid packet.
type Bits uint64

// PeerID names a peer in the tables of the side that assigned it: 1 to PeerIDMax.
// 0 is no peer, and appears only in connect packets, before the receiver has
// assigned an id.
type PeerID uint32

// Limits of the fields.
const (
	// CreditsMax is the largest number of credits that one packet returns.
	CreditsMax = 1<<creditsBits - 1
	// PeerIDMax is the largest peer id.
	PeerIDMax PeerID = 1<<peerIDBits - 1
)

// Masks of the fields, for use as the ignore argument of an Engine.
const (
	MaskType     Bits = (1<<typeBits - 1) << typeShift
	MaskCredits  Bits = (1<<creditsBits - 1) << creditsShift
	MaskReserved Bits = (1<<reservedBits - 1) << reservedShift
	MaskPeerID   Bits = (1<<peerIDBits - 1) << peerIDShift
	MaskTag      Bits = (1<<tagBits - 1) << tagShift

	// MaskNone ignores nothing: an exact match.
	MaskNone Bits = 0
	// MaskAll ignores everything: any message.
	MaskAll Bits = ^MaskNone
)

// The layout. Each field starts where the one below it ends.
const (
	tagBits      = 32
	peerIDBits   = 20
	reservedBits = 4
	creditsBits  = 4
	typeBits     = 4

	tagShift      = 0
	peerIDShift   = tagShift + tagBits
	reservedShift = peerIDShift + peerIDBits
	creditsShift  = reservedShift + reservedBits
	typeShift     = creditsShift + creditsBits
)

// The compiler rejects an index other than 0, and so a layout that does not fill
// 64 bits, has overlapping fields, or has too many types.
var (
	_ = [1]struct{}{}[typeShift+typeBits-64]
	_ = [1]struct{}{}[MaskType^MaskCredits^MaskReserved^MaskPeerID^MaskTag^MaskAll]
	_ = [1]struct{}{}[(MaskType|MaskCredits|MaskReserved|MaskPeerID|MaskTag)^MaskAll]
	_ = [1]struct{}{}[typeLast>>typeBits]
)

// Errors of Check. They are wrapped with the offending value.
var (
	ErrType     = errors.New("matchbits: unknown message type")
	ErrReserved = errors.New("matchbits: reserved bits are set")
	ErrPeerID   = errors.New("matchbits: peer id 0 outside a connect packet")
)

const brokenField = "matchbits: broken invariant: a field does not fit the layout"

// Make assembles match bits. A field out of range is a bug of the caller and
// panics.
func Make(t Type, credits uint8, id PeerID, tag uint32) Bits {
	if t-1 >= typeLast || credits > CreditsMax || id > PeerIDMax {
		panic(brokenField)
	}
	return Bits(t)<<typeShift | Bits(credits)<<creditsShift | Bits(id)<<peerIDShift | Bits(tag)
}

// Type is the kind of packet. It may be an unknown one, see Check.
func (b Bits) Type() Type { return Type(b >> typeShift) }

// Credits is the number of credits that the packet returns, 0 to CreditsMax.
func (b Bits) Credits() uint8 { return uint8(b>>creditsShift) & CreditsMax }

// Reserved returns the reserved bits, 0 in every valid packet.
func (b Bits) Reserved() uint8 { return uint8(b>>reservedShift) & (1<<reservedBits - 1) }

// PeerID is the sender's id in the receiver's tables, 0 to PeerIDMax.
func (b Bits) PeerID() PeerID { return PeerID(b>>peerIDShift) & PeerIDMax }

// Tag is the user's tag, or what a protocol packet carries in its place.
func (b Bits) Tag() uint32 { return uint32(b >> tagShift) }

// WithCredits returns b with its credits replaced. More than CreditsMax panics.
func (b Bits) WithCredits(n uint8) Bits {
	if n > CreditsMax {
		panic(brokenField)
	}
	return b&^MaskCredits | Bits(n)<<creditsShift
}

// WithTag returns b with its tag replaced.
func (b Bits) WithTag(tag uint32) Bits { return b&^MaskTag | Bits(tag) }

// Valid reports whether Check finds nothing wrong.
func (b Bits) Valid() bool { return b.Check() == nil }

// Check checks bits from the network: the type must be known, the reserved bits
// zero, and a peer id present where the receiver must have assigned one. Whether
// that id is a connected peer is for the receiver's tables to decide.
func (b Bits) Check() error {
	switch {
	case !b.Type().Valid():
		return fmt.Errorf("%w %d in %#016x", ErrType, uint8(b.Type()), uint64(b))
	case b.Reserved() != 0:
		return fmt.Errorf("%w (%#x) in %#016x", ErrReserved, b.Reserved(), uint64(b))
	case b.PeerID() == 0 && !b.Type().Connects():
		return fmt.Errorf("%w, in a %v packet", ErrPeerID, b.Type())
	}
	return nil
}

// String shows the fields, for instance "EXPECTED credits=2 peer=7 tag=0x10".
// Reserved bits appear only if they are set.
func (b Bits) String() string {
	s := fmt.Sprintf("%v credits=%d peer=%d tag=%#x", b.Type(), b.Credits(), b.PeerID(), b.Tag())
	if r := b.Reserved(); r != 0 {
		s += fmt.Sprintf(" reserved=%#x", r)
	}
	return s
}
