// Package wire defines the packets between MPI engines: one file per packet, with its struct,
// Append, Parse and String, and the layout of match bits.
//
// Every packet is one unexpected message of bmi, of class 0, whose tag is the packet's Kind.
// Integers are little endian. docs/internals/protocols/mpi.md describes the purpose and the order of the
// packets. internal/mpi/core handles them.
//
// The package is pure: no I/O, clock or lock. Parse does not trust its input, which comes from
// another process: it rejects a packet of the wrong length, with reserved bytes set, or with a
// value that no engine sends. Append and Parse do not allocate, except for the text in a HELLO and
// for errors.
package wire
