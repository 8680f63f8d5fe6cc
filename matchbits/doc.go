// Package matchbits is the arithmetic of who gets which message: the 64-bit
// value that travels with every packet (Bits), and the engine that joins
// arriving messages with posted receives by comparing such values (Engine).
//
// It is pure: no goroutine, lock, clock or I/O, and it imports nothing of
// Viaduct. One owner at a time calls an Engine; in methods/via that is whoever
// holds the engine lock. Randomness comes in as a seed.
//
// What does not live here: what a packet carries beside its bits
// (methods/via/wire), who a peer is and whether it is connected (package
// peer), and how long a message may wait for its receive (the method, which
// bounds Engine.KeptLen).
//
// Start with bits.go for the layout, engine.go for the engine, and table.go for
// why a match costs the same with one entry queued and with a million.
package matchbits

//go:generate go tool stringer -type=Type -linecomment -output=type_string.go
