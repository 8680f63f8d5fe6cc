// Package wire is the packet format of the VIA method, version 1: what one
// descriptor carries between two methods. It holds one file per packet kind,
// each with a struct, Append, Parse and String, and nothing that acts on
// packets; that is in methods/via. docs/internals/protocols/via.md describes the format in
// prose. `ls` of this folder is the protocol.
//
// All integers are little endian. Every packet starts with a Header.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

// Version of the packet format. Both sides must speak the same.
const Version = 1

// HeaderLen is the length of the header of every packet, in bytes.
const HeaderLen = 16

const (
	offBits = 0
	offSeq  = 8
	offAux  = 12
)

// If the layout moves, one of these lengths goes negative and the build stops.
var (
	_ [HeaderLen - (offAux + 4)]struct{}
	_ [(offAux + 4) - HeaderLen]struct{}
)

// Errors of the Parse functions. A packet that gives one is the sender's fault.
var (
	ErrShort   = errors.New("wire: packet ends early")
	ErrLong    = errors.New("wire: packet has bytes after its end")
	ErrInvalid = errors.New("wire: packet has an impossible value")
)

// A Header starts every packet.
//
//	 0        8        12       16
//	+--------+--------+--------+
//	| bits   | seq    | aux    |
//	+--------+--------+--------+
type Header struct {
	// Bits hold the packet's type, returned credits, the peer id that the
	// receiver assigned to the sender, and the tag.
	Bits matchbits.Bits
	// Seq counts the packets of one connection and direction from 1. The
	// receiver checks it on every packet.
	Seq uint32
	// Aux belongs to the packet kind.
	Aux uint32
}

// Put writes the header into b.
func (h Header) Put(b *[HeaderLen]byte) {
	binary.LittleEndian.PutUint64(b[offBits:], uint64(h.Bits))
	binary.LittleEndian.PutUint32(b[offSeq:], h.Seq)
	binary.LittleEndian.PutUint32(b[offAux:], h.Aux)
}

// Append appends the header to b.
func (h Header) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(h.Bits))
	b = binary.LittleEndian.AppendUint32(b, h.Seq)
	return binary.LittleEndian.AppendUint32(b, h.Aux)
}

// ParseHeader reads the header of a packet and returns what follows it. It
// does not judge the bits; the receiver does, by packet kind.
func ParseHeader(b []byte) (h Header, body []byte, err error) {
	if len(b) < HeaderLen {
		return Header{}, nil, ErrShort
	}
	h.Bits = matchbits.Bits(binary.LittleEndian.Uint64(b[offBits:]))
	h.Seq = binary.LittleEndian.Uint32(b[offSeq:])
	h.Aux = binary.LittleEndian.Uint32(b[offAux:])
	return h, b[HeaderLen:], nil
}

func (h Header) String() string {
	return fmt.Sprintf("%v seq=%d aux=%#x", h.Bits, h.Seq, h.Aux)
}
