// Package bmi is the message-passing interface of Viaduct: post, test, cancel
// over any network, in the manner of PVFS's Buffered Message Interface.
//
// # Concepts
//
// An [Endpoint] is one process's place in the network. It carries one or more
// methods (network transports), each with addresses of its own scheme, for
// instance "via+shm://name". [Endpoint.Lookup] turns such text into an [Addr].
//
// A message is expected if its receiver posts a receive for it. The receive names
// the sender and a [Tag]; messages of one sender and tag match receives in the
// order in which both were posted. An expected message may be early: its method
// keeps a limited number of early messages until their receives are posted.
//
// An unexpected message needs no receive: a client uses one to address a server
// for the first time. It carries a [Class], so that several services may share an
// endpoint. It is either queued for [Endpoint.TestUnexpected], or given to a
// handler (see [Endpoint.Handle]), which may use its bytes only during the call.
//
// A post starts an operation and never waits. It ends in one of three ways:
//
//	rejected  an error is returned; nothing was lent, nothing will happen
//	done      Posted.Done is set; the operation is over and successful
//	pending   a Test call returns the operation later, by its id
//
// A pending operation owns its buffer until a Test call returns it. It always
// completes, exactly once: with success, or with the error in its
// [Completion]. An accepted operation fails in no other way.
//
// A [Context] holds operations. Test calls on it return the operations posted in
// it and no others. Threads that work independently take one each.
//
// # Progress
//
// No receive thread stands between the network and the caller: a goroutine that
// calls a Test function polls the methods itself. It polls for a while (spins),
// then sleeps until something arrives. If several goroutines wait, one of them
// polls for all. If no goroutine waits, a background goroutine sleeps on each
// method and drives the protocol, so that an application that computes for a long
// time does not stall its peers. Handlers then run in that goroutine.
//
// # Ways of use
//
// The examples show each: polling, blocking calls with a context.Context,
// handlers, lists of buffers, waiting for some of many operations, cancelling,
// and registered memory.
//
// # What lives where
//
// This package knows no transport. A program imports the methods that it uses, as
// it does database drivers:
//
//	import _ "github.com/viaduct-hpc/viaduct/methods/via/..."
//
// The seam between this package and the methods is [Method], in method.go.
// Package bmi/bmitest is a method in memory for tests, and methods/methodtest is
// the suite that every method passes. Operations are in op.go and lane.go, an
// opened method in instance.go, the queue of unexpected messages in
// unexpectedqueue.go. Package internal/progress decides which goroutine polls and
// which sleeps.
package bmi
