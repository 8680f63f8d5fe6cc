// Package wire is what a program and a plugin say to each other about messages: the
// records that go through the rings (plugins/ring), or one by one over gRPC where there
// is no shared memory. Multi-byte fields are little-endian.
//
// A record is a Head of 32 bytes and what its kind asks for behind it: the message
// itself, the places in the arena where it lies, or a text. head.go is the Head with the
// kinds, piece.go the places, status.go how errors of package bmi travel. All parsers
// take any bytes, also bytes that change while they are read: each is read once.
//
// What the records mean, and in which order they may come, is in docs/plugin-protocol.md.
package wire

// Version is the version of the records and of the layout of the shared memory.
const Version = 1
