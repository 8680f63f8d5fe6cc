package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A Kind says what a request asks for.
type Kind uint8

// Kinds of requests.
const (
	Put           Kind = iota + 1 // write the data to the runs
	Get                           // return the bytes of the runs
	Accumulate                    // combine the data with the elements in the runs
	GetAccumulate                 // the same, and return the old elements
	Compare                       // data: an element to compare with, and one to store if they are equal; returns the old one
	PutLong                       // data: a Long; receive as many bytes there as a message
	GetLong                       // data: a Long; send as many bytes from there as a message
	Lock                          // lock the window; the operator is 1 for an exclusive lock, 0 for a shared one
	Unlock                        // unlock it
	Expose                        // data: an offset; open the memory there to the origin, and return an Exposed
)

// Valid tells whether the kind exists.
func (k Kind) Valid() bool { return k >= Put && k <= Expose }

// Lengths in bytes: of the part of a request before the runs, of a Long, and of the data of Expose.
const (
	HeadBytes   = 8
	LongBytes   = 20
	ExposeBytes = 8
)

// A Head begins a request. Layout; the runs and the data follow:
//
//	offset  size  field
//	     0     1  kind
//	     1     1  operator
//	     2     1  kind of the elements
//	     3     1  reserved, 0
//	     4     2  number of groups of runs: runs.go has their layout
//	     6     2  reserved, 0
//
// Operators are numbered in the order of package reduce's Predefined, kinds of elements in that of
// package datatype's Kind.
type Head struct {
	Kind     Kind
	Op, Elem uint8
	groups   uint16
}

// Append appends the head.
func (h Head) Append(dst []byte) []byte {
	dst = append(dst, byte(h.Kind), h.Op, h.Elem, 0)
	dst = binary.LittleEndian.AppendUint16(dst, h.groups)
	return append(dst, 0, 0)
}

// A Request is a request as it arrived.
type Request struct {
	Head
	runs []byte
	Data []byte
}

// ErrRequest is the error of a request that no process sends.
var ErrRequest = errors.New("a malformed request to a window")

// ParseRequest reads a request. Its data is a part of b.
func ParseRequest(b []byte) (Request, error) {
	if len(b) < HeadBytes {
		return Request{}, fmt.Errorf("%w: %d bytes, want at least %d", ErrRequest, len(b), HeadBytes)
	}
	r := Request{Head: Head{Kind: Kind(b[0]), Op: b[1], Elem: b[2], groups: binary.LittleEndian.Uint16(b[4:])}}
	switch {
	case !r.Kind.Valid():
		return Request{}, fmt.Errorf("%w: unknown kind %d", ErrRequest, b[0])
	case b[3] != 0 || b[6] != 0 || b[7] != 0:
		return Request{}, fmt.Errorf("%w: reserved bytes are not zero", ErrRequest)
	}
	rest, last := b[HeadBytes:], uint64(0)
	for range r.groups {
		g, behind, err := parseGroup(rest, last)
		if err != nil {
			return Request{}, err
		}
		rest, last = behind, g.end()
	}
	r.runs, r.Data = b[HeadBytes:len(b)-len(rest)], rest
	return r, nil
}

// A Long names bytes of a window that travel as a message of their own. Layout:
//
//	offset  size  field
//	     0     8  offset in the window
//	     8     8  length
//	    16     4  tag of the message
type Long struct {
	Off, Length uint64
	Tag         uint32
}

// Append appends it.
func (l Long) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, l.Off)
	dst = binary.LittleEndian.AppendUint64(dst, l.Length)
	return binary.LittleEndian.AppendUint32(dst, l.Tag)
}

// ParseLong reads the data of a request for a long message.
func ParseLong(b []byte) (Long, error) {
	if len(b) != LongBytes {
		return Long{}, fmt.Errorf("%w: %d bytes describe a long message, want %d", ErrRequest, len(b), LongBytes)
	}
	return Long{
		Off:    binary.LittleEndian.Uint64(b),
		Length: binary.LittleEndian.Uint64(b[8:]),
		Tag:    binary.LittleEndian.Uint32(b[16:]),
	}, nil
}

// KeyBytes is the size of the key of exposed memory. What is in it depends on the method.
const KeyBytes = 16

// An Exposed names memory that the target has exposed to the origin. Layout:
//
//	offset  size  field
//	     0     8  offset in the window, or address
//	     8     8  length
//	    16    16  key
type Exposed struct {
	Off, Length uint64
	Key         [KeyBytes]byte
}

// exposedBytes is the size of an Exposed.
const exposedBytes = 16 + KeyBytes

// Append appends it.
func (x Exposed) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, x.Off)
	dst = binary.LittleEndian.AppendUint64(dst, x.Length)
	return append(dst, x.Key[:]...)
}

// ParseExposed reads the data of an answer to Expose. The memory has at least one byte, and does not go
// beyond the largest address.
func ParseExposed(b []byte) (Exposed, error) {
	if len(b) != exposedBytes {
		return Exposed{}, fmt.Errorf("%w: %d bytes describe exposed memory, want %d", ErrRequest, len(b), exposedBytes)
	}
	x := Exposed{Off: binary.LittleEndian.Uint64(b), Length: binary.LittleEndian.Uint64(b[8:]), Key: [KeyBytes]byte(b[16:])}
	if x.Length == 0 || x.Off+(x.Length-1) < x.Off {
		return Exposed{}, fmt.Errorf("%w: %d bytes of exposed memory at %d", ErrRequest, x.Length, x.Off)
	}
	return x, nil
}
