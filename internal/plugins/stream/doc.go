// Package stream carries the records of a session over gRPC, for plugins without shared memory.
// Both sides have their rings in private memory, so packages host and guest do not see the
// difference. A record in one side's ring is translated, sent through the stream Data, translated
// back and written to the other side's ring. The message is always in the record.
//
// pump.go is the program's side, which connects the rings of a host.Method to a stream. serve.go is
// the side of a plugin in Go, which connects a stream to a guest.Engine. program.go and plugin.go
// translate the records on either side. waiting.go has the operations for which a plugin has no
// memory yet. lines.go reads and writes rings, and waits while one is empty or full. limit.go ends
// a stream with its session, and limits.go has the limits.
//
// Neither side trusts the other: a record that breaks the rules ends the stream with an error and
// harms nothing else. Opening and closing a session is the business of internal/plugins/service; the meaning
// of the records is in internal/plugins/wire.
package stream
