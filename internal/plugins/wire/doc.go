// Package wire defines the records about messages that a program and a plugin exchange, through the
// rings (internal/plugins/ring) or, without shared memory, one by one over gRPC. Multi-byte fields are
// little-endian.
//
// A record is a Head of 32 bytes, followed by a message, the message's places in the arena, or a
// text, depending on its kind. head.go is the Head with the kinds, piece.go the places, status.go
// the form of errors of package bmi. All parsers accept any bytes, even bytes that change while
// they are read: each is read once.
//
// docs/internals/protocols/plugins.md describes the meaning and the order of the records.
package wire

// Version is the version of the records and of the layout of the shared memory.
const Version = 1
