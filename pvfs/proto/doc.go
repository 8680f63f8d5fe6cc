// Package proto is the request protocol of OrangeFS (PVFS2), version 7000: every request and
// response as a type that is encoded with Append, decoded with Parse, and printed with String.
//
// It does no I/O: bytes in, values out. Integers are little-endian. Offsets and alignment count from the first byte of the
// message, which is the payload of one bmi message. A message must be used up to its last byte. All fields are checked: counts
// are compared with their limits and with the remaining bytes before memory is allocated.
//
// The facts are from the OrangeFS sources (src/proto, include/pvfs2-types.h).
package proto
