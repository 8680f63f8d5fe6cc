package mpi

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Request is an operation that was posted, and must be waited for, tested or freed (MPI-4.1,
// 3.7). It is a small value that may be copied; the zero Request is MPI_REQUEST_NULL. Once a call
// has reported that the operation ended, every copy behaves like the zero Request. Persistent
// requests become inactive instead, until Start.
//
// The memory of the operation belongs to the library until then.
type Request struct {
	r    core.Request
	from *origin // nil only in the zero Request
}

// An origin is the source of a Request. It is a communicator, whose requests of the engine all
// share one origin, or an operation that the engine does not manage, such as a collective one.
type origin struct {
	comm *Comm

	// start begins a round of a persistent operation that the engine does not manage; otherwise it
	// is nil.
	start func() (core.Request, error)

	// task is the latest round of a collective operation; otherwise it is nil.
	task atomic.Pointer[task]

	mu    sync.Mutex
	round core.Request // the latest round; guarded by mu
	freed bool         // guarded by mu
}

// request makes a Request from one of the engine's.
func (c *Comm) request(r core.Request) Request { return Request{r: r, from: &c.own} }

// persistent makes a persistent Request; start begins a round. It is never called while another
// round is active.
func (c *Comm) persistent(start func() (core.Request, error)) Request {
	return Request{from: &origin{comm: c, start: start}}
}

// operation returns the engine's request.
func (r Request) operation() core.Request {
	if r.from == nil || r.from.start == nil {
		return r.r
	}
	r.from.mu.Lock()
	defer r.from.mu.Unlock()
	return r.from.round
}

// comm returns the communicator of the request, or nil for the zero Request.
func (r Request) comm() *Comm {
	if r.from == nil {
		return nil
	}
	return r.from.comm
}

// IsNull tells whether r is the zero Request, MPI_REQUEST_NULL.
func (r Request) IsNull() bool { return r.from == nil }

// Wait waits until the operation ended, and returns the Status of its message and its error
// (MPI_Wait; MPI-4.1, 3.7.3). For a null, ended or inactive request it returns at once with the
// empty Status.
func (r Request) Wait() (Status, error) { return r.WaitContext(background) }

// WaitContext is Wait that ends with ctx's error when ctx ends. The operation continues.
func (r Request) WaitContext(ctx context.Context) (Status, error) {
	if r.from == nil {
		return emptyStatus, nil
	}
	ctx = orBackground(ctx)
	c := r.from.comm
	call := c.enter(Call{Name: "MPI_Wait", Comm: c, Peer: Undefined, Tag: Undefined})
	r.help(ctx)
	st, err := r.operation().Wait(ctx)
	return Status(st), c.leave(call, err)
}

// help runs the collective operation that a request stands for, if its goroutine has not begun to
// and nothing can end the wait.
func (r Request) help(ctx context.Context) {
	if r.from == nil {
		return
	}
	if t := r.from.task.Load(); t != nil && ctx.Done() == nil {
		t.run()
	}
}

// Test tells whether the operation ended. If so, it acts like Wait (MPI_Test; MPI-4.1, 3.7.3).
func (r Request) Test() (Status, bool, error) {
	if r.from == nil {
		return emptyStatus, true, nil
	}
	c := r.from.comm
	call := c.enter(Call{Name: "MPI_Test", Comm: c, Peer: Undefined, Tag: Undefined})
	st, done, err := r.operation().Test()
	yieldUnless(done)
	return Status(st), done, c.leave(call, err)
}

// yieldUnless lets other goroutines run after an unsuccessful test. A program that tests in a loop
// would otherwise keep the processor from goroutines that it waits for.
func yieldUnless(done bool) {
	if !done {
		runtime.Gosched()
	}
}

// Peek is Test, but leaves the request unchanged (MPI_Request_get_status; MPI-4.1, 3.7.6).
func (r Request) Peek() (st Status, done bool, err error) {
	if r.from == nil {
		return emptyStatus, true, nil
	}
	defer r.from.comm.call("MPI_Request_get_status", &err)()
	got, done, err := r.operation().Peek()
	yieldUnless(done)
	return Status(got), done, err
}

// Cancel asks the operation to end early (MPI_Cancel; MPI-4.1, 3.8.4). The request must still be
// waited for; Status.Cancelled then tells whether the operation was cancelled in time.
func (r Request) Cancel() (err error) {
	defer r.comm().call("MPI_Cancel", &err)()
	if r.from == nil {
		return errNullRequest
	}
	return r.operation().Cancel()
}

// Free releases the request; the operation continues unobserved (MPI_Request_free; MPI-4.1, 3.7.3).
// The memory of a receive must not be used any more, because the program cannot know when the
// message has arrived.
func (r Request) Free() (err error) {
	defer r.comm().call("MPI_Request_free", &err)()
	if r.from == nil {
		return errNullRequest
	}
	if r.from.start == nil {
		return r.r.Free()
	}
	r.from.mu.Lock()
	defer r.from.mu.Unlock()
	if r.from.freed {
		return errclass.New(errclass.Request, "the persistent request has been freed already")
	}
	r.from.freed = true
	if r.from.round.IsNull() {
		return nil
	}
	if _, done, _ := r.from.round.Peek(); done {
		return nil
	}
	return r.from.round.Free()
}

var errNullRequest = errclass.New(errclass.Request, "the request is null: give one that a call has returned")
