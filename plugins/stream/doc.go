// Package stream carries the records of a session over gRPC, for plugins that share no
// memory with the program. Both sides keep their rings, in private memory, so that neither
// package host nor package guest knows the difference: what one side writes into a ring is
// translated, sent through the stream Data, translated back and written into the ring of
// the other side, with the message always inside.
//
// pump.go is the program's side, which joins the rings of a host.Method to a stream, and
// serve.go that of a plugin in Go, which serves one with a guest.Engine; program.go and
// plugin.go are what they make of the records, waiting.go is what a plugin does with
// operations that it has no memory for. lines.go reads rings and writes them, waiting
// where there is nothing or no room; limit.go ends a stream with its session; limits.go holds
// the limits.
//
// Neither side trusts the other: a record that breaks the rules ends the stream with an
// error and harms nobody else. How a session is opened and ended is not known here
// (plugins/service), nor what the records mean (plugins/wire).
package stream
