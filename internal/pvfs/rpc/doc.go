// Package rpc carries the requests of package proto over bmi. A Caller sends requests and waits for their responses. A Server
// receives requests and gives each to a handler as a Call. Both implement the flows that move the bytes of files.
//
// A request is an unexpected message of class 0 with a tag of its own. Its response, the data of its flow and its completion are
// expected messages with that tag. The receives for everything that a server may send at once are posted before the request is
// sent.
//
// # Flows
//
// The bytes of one datafile, in the order of their offsets, are cut into messages of FlowBufferSize bytes; the last one has the
// rest. Both sides must use the same size. For a write the client waits for the response, sends the data, and waits for the
// completion. For a read the data follow the response, up to the end of the datafile.
//
// A server can send messages directly from files (Source), which takes no buffers. Otherwise a limit applies to the buffers of
// all flows together, but each flow has at least one.
//
// A server that cannot read on sends an empty message in place of the next one, which stock servers do not do. A Caller then
// fails with EIO at once.
//
// # Retries and limits
//
// This package never retries. An error says whether the request was sent (ErrNotSent, ErrNoAnswer), and Idempotent whether it may
// be sent again.
//
// limits.go has all limits. Package refusal counts the requests that a server refuses. drain.go describes how a server stops.
//
// A Server keeps the goroutines that run its handlers. Requests with a flow and requests without one have separate limits. A
// handler that calls another server through a Caller, with the context of its Call, does not count while it waits. So two servers
// that call each other cannot block each other.
package rpc
