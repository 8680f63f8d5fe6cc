package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Kind is the kind of a record.
type Kind uint8

// Records of the program.
const (
	KindSend           Kind = 1 + iota // of an expected message: Op, Peer, Tag, Size; message or pieces
	KindSendUnexpected                 // the same, and Class
	KindRecv                           // Op, Peer, Tag, Size; pieces, or none: the message comes in the Done
	KindCancel                         // Op
	KindPeer                           // Peer is the id that the program gives to the remote endpoint whose address follows
	KindDrop                           // Peer
	KindHold                           // Peer: the plugin must send no Arrived from it until GoOn
	KindGoOn                           // Peer
	programEnd
)

// Records of the plugin.
const (
	KindDone     Kind = 64 + iota // Op, Size, Status; message or text
	KindArrived                   // Peer, Class, Tag, Size; message
	KindStranger                  // Peer is the id that the plugin gives to the remote endpoint whose address follows
	pluginEnd
)

var kindNames = map[Kind]string{
	KindSend: "send", KindSendUnexpected: "send unexpected", KindRecv: "recv", KindCancel: "cancel",
	KindPeer: "peer", KindDrop: "drop", KindHold: "hold", KindGoOn: "go on",
	KindDone: "done", KindArrived: "arrived", KindStranger: "stranger",
}

func (k Kind) String() string {
	if name := kindNames[k]; name != "" {
		return name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// FromProgram reports whether programs send this kind, FromPlugin whether plugins do.
func (k Kind) FromProgram() bool { return k >= KindSend && k < programEnd }
func (k Kind) FromPlugin() bool  { return k >= KindDone && k < pluginEnd }

// Flags of a record.
type Flags uint8

const (
	// FlagMessage: the message itself follows the Head.
	FlagMessage Flags = 1 << iota
	// FlagPieces: Pieces follow the Head.
	FlagPieces
	// FlagText: a text follows the Head.
	FlagText
	flagsEnd
)

// HeadBytes is the length of a Head.
const HeadBytes = 32

// A Head begins every record:
//
//	offset  bytes  field
//	     0      1  kind
//	     1      1  flags
//	     2      1  class of an unexpected message
//	     3      1  status of a Done
//	     4      4  tag
//	     8      8  op
//	    16      8  peer
//	    24      8  size, in bytes
//
// Fields that a kind does not use are 0.
type Head struct {
	Kind   Kind
	Flags  Flags
	Class  uint8
	Status Status
	Tag    uint32
	Op     uint64
	Peer   uint64
	Size   uint64
}

// ErrInvalid: the bytes are not a valid record.
var ErrInvalid = errors.New("internal/plugins/wire: invalid record")

// Put writes the Head to the first HeadBytes of b, in stores as wide as the loads of Parse: a core
// stalls if it loads what it has just stored in smaller parts.
func (h *Head) Put(b []byte) {
	_ = b[HeadBytes-1]
	binary.LittleEndian.PutUint64(b, uint64(h.Kind)|uint64(h.Flags)<<8|uint64(h.Class)<<16|uint64(h.Status)<<24|uint64(h.Tag)<<32)
	binary.LittleEndian.PutUint64(b[8:], h.Op)
	binary.LittleEndian.PutUint64(b[16:], h.Peer)
	binary.LittleEndian.PutUint64(b[24:], h.Size)
}

// Append appends the Head.
func (h *Head) Append(b []byte) []byte {
	n := len(b)
	b = append(b, make([]byte, HeadBytes)...)
	h.Put(b[n:])
	return b
}

// Parse reads the Head of a record and returns the bytes behind it. It checks that the kind, the
// flags and the status of a Done are known, and that a message has the length in Size. The caller
// must check everything else.
func (h *Head) Parse(b []byte) (rest []byte, err error) {
	if len(b) < HeadBytes {
		return nil, fmt.Errorf("%w: %d bytes, want at least %d", ErrInvalid, len(b), HeadBytes)
	}
	first := binary.LittleEndian.Uint64(b)
	*h = Head{
		Kind: Kind(first), Flags: Flags(first >> 8), Class: uint8(first >> 16), Status: Status(first >> 24),
		Tag:  uint32(first >> 32),
		Op:   binary.LittleEndian.Uint64(b[8:]),
		Peer: binary.LittleEndian.Uint64(b[16:]),
		Size: binary.LittleEndian.Uint64(b[24:]),
	}
	rest = b[HeadBytes:]
	switch {
	case !h.Kind.FromProgram() && !h.Kind.FromPlugin():
		return nil, fmt.Errorf("%w: unknown %v", ErrInvalid, h.Kind)
	case h.Flags&(h.Flags-1) != 0 || h.Flags >= flagsEnd:
		return nil, fmt.Errorf("%w: flags %#x", ErrInvalid, uint8(h.Flags))
	case h.Flags == 0 && len(rest) != 0:
		return nil, fmt.Errorf("%w: %v and %d bytes that nothing is said about", ErrInvalid, h.Kind, len(rest))
	case h.Status >= statusEnd:
		return nil, fmt.Errorf("%w: status %d", ErrInvalid, h.Status)
	case h.Flags == FlagMessage && h.Size != uint64(len(rest)):
		return nil, fmt.Errorf("%w: %v of %d bytes with %d", ErrInvalid, h.Kind, h.Size, len(rest))
	case h.Size > math.MaxInt64:
		return nil, fmt.Errorf("%w: size %d", ErrInvalid, h.Size)
	}
	return rest, nil
}

func (h *Head) String() string {
	s := fmt.Sprintf("%v op=%#x peer=%d tag=%#x class=%d size=%d", h.Kind, h.Op, h.Peer, h.Tag, h.Class, h.Size)
	if h.Status != StatusOK {
		s += " status=" + h.Status.String()
	}
	return s
}
