package wire

import (
	"encoding/binary"
	"fmt"
)

// RevokeBytes is the length of a REVOKE.
const RevokeBytes = 8

// Revoke ends every operation of a context, or, because a process has failed, only those in which
// all processes take part. Layout:
//
//	offset  size  field
//	     0     4  credit
//	     4     2  context
//	     6     1  0 if every operation ends, 1 if those that all have a part in do
//	     7     1  reserved, 0
type Revoke struct {
	Credit  uint32
	Context uint16
	Failure bool
}

func (p Revoke) String() string {
	return fmt.Sprintf("REVOKE credit=%d context=%d failure=%t", p.Credit, p.Context, p.Failure)
}

// Append appends the packet to dst.
func (p Revoke) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Credit)
	dst = binary.LittleEndian.AppendUint16(dst, p.Context)
	var failure uint16
	if p.Failure {
		failure = 1
	}
	return binary.LittleEndian.AppendUint16(dst, failure)
}

// ParseRevoke reads a REVOKE.
func ParseRevoke(b []byte) (Revoke, error) {
	if err := checkLength(KindRevoke, b, RevokeBytes); err != nil {
		return Revoke{}, err
	}
	if b[7] != 0 {
		return Revoke{}, reserved(KindRevoke)
	}
	if b[6] > 1 {
		return Revoke{}, fmt.Errorf("%w: %v says %d, neither all nor some", ErrValue, KindRevoke, b[6])
	}
	return Revoke{Credit: binary.LittleEndian.Uint32(b), Context: binary.LittleEndian.Uint16(b[4:]), Failure: b[6] == 1}, nil
}
