// Package bridge lends the inside of package mpi to packages below it that programs use directly,
// such as mpi/rma: the scope of a communicator, the making of Requests, the hook. Package mpi offers
// the functions when it is linked; nothing else of it is visible.
//
// The types of package mpi are parameters, because this package cannot import it.
package bridge

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// Calls are functions of package mpi: Comm, Request and Call are its types of these names.
type Calls[Comm, Request, Call any] struct {
	// Dup and Idup duplicate a communicator as Comm.Dup and Comm.Idup do, for a package that keeps the
	// duplicate to itself. The hook sees neither these calls nor calls on the duplicate.
	Dup  func(ctx context.Context, c *Comm) (*Comm, error)
	Idup func(c *Comm) (*Comm, Request)
	// Show makes the hook see later calls on such a duplicate.
	Show func(c *Comm)
	// Free is Comm.Free, which the hook does not see.
	Free func(c *Comm) error
	// Operation makes a Request of the communicator for an operation that end ends, once. cancel may be
	// nil.
	Operation func(c *Comm, cancel func()) (r Request, end func(st core.Status, err error))

	// Go runs in a goroutine what a call that has returned leaves to the library. Finalize does not
	// report its requests as pending before all processes are in Finalize.
	Go func(c *Comm, do func())

	// Live returns an error unless the communicator can be used.
	Live func(c *Comm) error
	// Fail passes an error to the communicator's error handler, and returns it.
	Fail func(c *Comm, err error) error
	// Engine returns the engine of the communicator's process.
	Engine func(c *Comm) *core.Engine
	// Scope returns the scope of point-to-point messages.
	Scope func(c *Comm) *core.Scope
	// Request makes a Request of the communicator from one of the engine's.
	Request func(c *Comm, r core.Request) Request
	// Ended makes the Request of an operation that could not begin.
	Ended func(c *Comm, err error) Request
	// Barrier is Comm.Barrier without hook and error handler.
	Barrier func(ctx context.Context, c *Comm) error
	// Hooked tells whether the process has a hook, which Enter and Leave would show calls to.
	Hooked func(c *Comm) bool
	// Enter shows a call to the hook, and Leave its end; the call is nil if there is no hook.
	Enter func(c *Comm, name string, rank, bytes int) *Call
	Leave func(c *Comm, call *Call, err error)
}

// offered is the Calls of package mpi.
var offered any

// Offer makes the functions available; package mpi calls it once.
func Offer(calls any) { offered = calls }

// Take returns the functions. The caller imports package mpi, so they have been offered.
func Take[Comm, Request, Call any]() *Calls[Comm, Request, Call] {
	return offered.(*Calls[Comm, Request, Call])
}
