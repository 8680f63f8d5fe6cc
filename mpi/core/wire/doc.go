// Package wire is what engines of MPI say to each other: one file per packet, with its
// struct, Append, Parse and String, and the layout of match bits.
//
// Every packet is one unexpected message of bmi, of class 0, whose tag is the packet's
// Kind. Integers are little endian. docs/protocol-mpi.md tells what the packets are for and
// in which order they come; what an engine does with them lives in mpi/core.
//
// The package is pure: no I/O, clock or lock. What Parse reads comes from another process
// and is not believed: a packet of the wrong length, with reserved bytes set, or with a
// value that no engine sends is refused. Append and Parse do not allocate, but for the text
// in a HELLO and for errors.
package wire
