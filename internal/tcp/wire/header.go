// Package wire is the message format of PVFS2's bmi_tcp: a header of 24 bytes
// before every message, and a Reader that finds the headers in a stream of bytes
// that arrives in pieces of any size.
//
// All integers are little endian. Source: OrangeFS, src/io/bmi/bmi_tcp/bmi-tcp.c,
// and captured traffic of its programs (testdata). docs/internals/protocols/tcp.md has the
// format in words.
//
// The package is pure: no I/O, clock or lock. The receiver's handling of messages
// is in methods/tcp.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// HeaderLen is the size of a header in bytes. Header layout:
//
//	offset  size  field
//	     0     4  magic, Magic
//	     4     4  mode
//	     8     8  tag: 32 bits, sign-extended to 64
//	    16     8  size of the message that follows, in bytes, signed
const HeaderLen = 24

// Magic begins every header. The stand-alone BMI library, which speaks another
// format, has MagicStandalone in its place.
const (
	Magic           = 51903
	MagicStandalone = 51912
)

// Limits of the format, in bytes. They are part of the protocol: the other side
// relies on them.
const (
	// UnexpectedMax is the largest unexpected message, and the largest
	// expected one that is sent as eager.
	UnexpectedMax = 16 << 10
	EagerMax      = 16 << 10
	// ExpectedMax is the largest expected message.
	ExpectedMax = 16 << 20
)

// Mode says what kind of message follows. Eager and rendezvous messages look the
// same on the wire. The mode tells the receiver whether it must be able to keep a
// message that arrives before its receive is posted.
type Mode uint32

const (
	ModeUnexpected Mode = 2
	ModeEager      Mode = 4
	ModeRendezvous Mode = 8
)

func (m Mode) String() string {
	switch m {
	case ModeUnexpected:
		return "UNEXPECTED"
	case ModeEager:
		return "EAGER"
	case ModeRendezvous:
		return "RENDEZVOUS"
	}
	return fmt.Sprintf("Mode(%d)", uint32(m))
}

// Errors in a header. The stream behind such a header is unusable, because the
// next header cannot be found.
var (
	ErrMagic = errors.New("no message of this protocol begins like this")
	ErrMode  = errors.New("unknown message mode")
	ErrSize  = errors.New("message size is out of range")
)

// A Header announces a message.
type Header struct {
	Mode Mode
	Tag  uint32
	Size int // of the message behind it, in bytes
}

// Expected is the header of an expected message.
func Expected(tag uint32, size int) Header {
	if size > EagerMax {
		return Header{Mode: ModeRendezvous, Tag: tag, Size: size}
	}
	return Header{Mode: ModeEager, Tag: tag, Size: size}
}

// Unexpected is the header of an unexpected message.
func Unexpected(tag uint32, size int) Header {
	return Header{Mode: ModeUnexpected, Tag: tag, Size: size}
}

func (h Header) String() string {
	return fmt.Sprintf("%v tag=%d size=%d", h.Mode, h.Tag, h.Size)
}

// Append appends the header to b.
func (h Header) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, Magic)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.Mode))
	b = binary.LittleEndian.AppendUint64(b, uint64(int64(int32(h.Tag))))
	return binary.LittleEndian.AppendUint64(b, uint64(h.Size))
}

// parse reads a header from its HeaderLen bytes. It ignores the upper half of the
// tag, as the original does.
func parse(b []byte) (Header, error) {
	_ = b[HeaderLen-1]
	if magic := binary.LittleEndian.Uint32(b); magic != Magic {
		return Header{}, badMagic(magic)
	}
	h := Header{
		Mode: Mode(binary.LittleEndian.Uint32(b[4:])),
		Tag:  binary.LittleEndian.Uint32(b[8:]),
	}
	size := int64(binary.LittleEndian.Uint64(b[16:]))
	limit := int64(ExpectedMax)
	switch h.Mode {
	case ModeUnexpected:
		limit = UnexpectedMax
	case ModeEager, ModeRendezvous:
	default:
		return Header{}, fmt.Errorf("%w: %d", ErrMode, uint32(h.Mode))
	}
	if size < 0 || size > limit {
		return Header{}, fmt.Errorf("%w: %d bytes, the limit of %v is %d", ErrSize, size, h.Mode, limit)
	}
	h.Size = int(size)
	return h, nil
}

// badMagic distinguishes likely mistakes.
func badMagic(magic uint32) error {
	if magic == MagicStandalone {
		return fmt.Errorf("%w: magic number %d, this is the stand-alone BMI library; only the one within OrangeFS speaks this protocol", ErrMagic, magic)
	}
	return fmt.Errorf("%w: magic number %d, want %d", ErrMagic, magic, Magic)
}
