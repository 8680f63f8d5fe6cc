// Package bmi is the message-passing interface of Viaduct: post, test, cancel
// over any network, in the manner of PVFS's Buffered Message Interface.
//
// # Concepts
//
// An [Endpoint] is one process's place in the network. It carries one or more
// methods (network transports), each with addresses of its own scheme, for
// instance "via+shm://name". [Endpoint.Lookup] turns such text into an [Addr].
//
// A message is expected if its receiver posted a receive for it: the receive
// names the sender and a [Tag], and messages of one sender and tag match
// receives in the order in which both were posted. An expected message may be
// early: its method keeps a limited number of them until the receives come.
//
// An unexpected message needs no receive: it is how a client first addresses a
// server. It carries a [Class], so that several services may share an
// endpoint, and is either queued for [Endpoint.TestUnexpected], or given to a
// handler (see [Endpoint.Handle]) that sees the arrived bytes without a copy.
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
// A [Context] holds operations: Test calls on it return those that were posted
// in it and no others. Threads that work independently take one each.
//
// # Progress
//
// There are no receive threads between the network and the caller: who calls a
// Test function polls the methods itself. It polls for a while (spins), then
// sleeps until something arrives. Of several callers one polls for all. When
// nobody tests, a goroutine in the background sleeps on each method and keeps
// the protocol going, so that an application that computes for long does not
// stall its peers; handlers then run in that goroutine.
//
// # Ways of use
//
// The examples show each: polling, blocking calls with a context.Context,
// handlers, lists of buffers, waiting for some of many operations, cancelling,
// and memory that the network moves without a copy.
//
// # What lives where
//
// This package knows no transport. A program imports those that it wants to
// carry, as it does database drivers:
//
//	import _ "github.com/viaduct-hpc/viaduct/methods/via/..."
//
// The seam between this package and the methods is [Method], in method.go;
// package bmi/bmitest is a method in memory for tests, and
// methods/methodtest the suite that every method passes. Inside, op.go and
// lane.go hold operations, instance.go one opened method, wait.go and
// monitor.go who polls and who sleeps, spin.go for how long, watch.go the
// background, queue.go unexpected messages.
package bmi
