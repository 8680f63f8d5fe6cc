// Package proto is the request protocol of OrangeFS (PVFS2), version 7000: every request and
// response as a type that is encoded with Append, decoded with Parse, and printed with String.
//
// It is pure: bytes in, values out. Integers are little-endian; offsets and alignment count
// from the first byte of the message, that is of the payload of one bmi message. A message
// must be used up to its last byte. Everything decoded is checked: counts against their limits
// and against what is there, before memory is taken for them.
//
// The facts are from the OrangeFS sources (src/proto, include/pvfs2-types.h).
package proto
