// Package rpc carries the requests of package proto over bmi: a Caller sends requests and
// waits for their responses, a Server takes requests and gives each to a handler as a Call.
// Both do the flows that move the bytes of files.
//
// A request is an unexpected message of class 0 with a tag of its own; its response, the data
// of its flow and its completion are expected messages with that tag. Receives for all that a
// server may send at once are posted before the request goes out.
//
// # Flows
//
// The bytes of one datafile, in the order of their place in it, are cut into messages of
// FlowBufferSize bytes, the last with the rest; both sides must use the same size. For a write
// the client waits for the response, sends the data, and waits for the completion. For a read
// the data follow the response, as far as the datafile reaches.
//
// A server can send messages out of files (Source), which takes no buffers of it. Otherwise
// their buffers are bounded for all flows together; each flow has at least one.
//
// A server that cannot read on sends an empty message in place of the next, which no
// other server does; a Caller then fails with EIO at once.
//
// # Retries and limits
//
// Nothing here retries: an error tells whether the request went out (ErrNotSent, ErrNoAnswer),
// Idempotent whether it may go out twice.
//
// limits.go has all limits. Package refusal counts what a server does not serve. drain.go says how a server stops.
//
// A Server runs handlers on goroutines that it keeps. Requests without and with a flow have
// limits of their own. A handler that calls another server through a Caller, with the context
// of its Call, does not count while it waits; two servers that call each other thus cannot
// block each other.
package rpc
