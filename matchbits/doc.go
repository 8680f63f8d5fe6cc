// Package matchbits decides which receive gets which message: it has the 64-bit
// value that travels with every packet (Bits), and the engine that joins arriving
// messages with posted receives by comparing such values (Engine).
//
// It is pure: no goroutine, lock, clock or I/O, and it imports nothing of
// Viaduct. One owner at a time calls an Engine; in methods/via that is the holder
// of the engine lock. Randomness comes in as a seed.
//
// The rest of a packet is in internal/via/wire, the identity and connection state
// of a peer in package peer. How long a message may wait for its receive is
// decided by the method, which bounds Engine.KeptLen.
//
// Start with bits.go for the layout, engine.go for the engine, and table.go for
// why a match costs the same with one entry queued and with a million.
package matchbits

//go:generate go tool stringer -type=Type -linecomment -output=type_string.go
