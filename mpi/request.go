package mpi

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Request is an operation that was posted, and must be waited for, tested or freed (MPI-4.1,
// 3.7). It is a small value that may be copied and compared; the zero Request is MPI_REQUEST_NULL. Once a call
// has reported that the operation ended, every copy behaves like the zero Request. Persistent
// requests become inactive instead, until Start.
//
// The memory of the operation belongs to the library until then.
//
// A call that cannot begin its operation returns a Request that has ended already, with the error.
// So programs check errors once, when they wait.
type Request struct {
	r    core.Request
	from *origin // nil only in the zero Request
}

// An origin is the source of a Request. It is a communicator, whose requests of the engine all
// share one origin, or an operation that the engine does not manage, such as a collective one.
type origin struct {
	comm *Comm // nil in an orphan: its operation could not begin, because the communicator is nil

	// err says why the operation could not begin; otherwise it is nil.
	err error
	// reported tells whether an orphan's error has been reported.
	reported atomic.Bool

	// start begins a round of a persistent operation that the engine does not manage; otherwise it
	// is nil.
	start func() (core.Request, error)

	// task is the latest round of a collective or partitioned operation; otherwise it is nil.
	task atomic.Pointer[task]
	// parts is the message of a partitioned operation; otherwise it is nil.
	parts partitioned

	mu    sync.Mutex
	round core.Request // the latest round; guarded by mu
	freed bool         // guarded by mu
}

// request makes a Request from one of the engine's.
func (c *Comm) request(r core.Request) Request { return Request{r: r, from: &c.own} }

// began returns the Request of a call that begins an operation: r, or one that has ended with err.
func (c *Comm) began(r Request, err error) Request {
	switch {
	case err == nil:
		return r
	case c == nil:
		return Request{from: &origin{err: err}}
	}
	failed, end := c.p.engine.NewOp(nil)
	end(core.Empty, err)
	return Request{r: failed, from: &origin{comm: c, err: err}}
}

// orphaned returns the error of an orphan, once.
func (r Request) orphaned() error {
	if r.from == nil || r.from.comm != nil || r.from.reported.Swap(true) {
		return nil
	}
	return r.from.err
}

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

// Wait waits until the operation has ended, and returns the Status of its message and its error
// (MPI_Wait; MPI-4.1, 3.7.3). For a null, ended or inactive request it returns at once with the
// empty Status. If ctx ends first, Wait returns its error, and the operation continues.
func (r Request) Wait(ctx context.Context) (Status, error) {
	if r.from == nil {
		return emptyStatus, nil
	}
	c := r.from.comm
	if c == nil {
		return emptyStatus, r.orphaned()
	}
	ctx = orBackground(ctx)
	call := c.enter(Call{Name: "MPI_Wait", Comm: c, Peer: Undefined, Tag: Undefined})
	r.help(ctx)
	st, err := r.operation().Wait(ctx)
	return statusOf(st), c.leave(call, err)
}

// help runs the task that a request stands for, unless a goroutine has begun to. If something can end
// the wait, a goroutine does it.
func (r Request) help(ctx context.Context) {
	if r.from == nil {
		return
	}
	switch t := r.from.task.Load(); {
	case t == nil:
	case ctx.Done() == nil:
		t.run()
	default:
		t.launch()
	}
}

// launch starts the goroutine of the task that a request stands for, because the caller does not wait
// for it alone.
func (r Request) launch() {
	if r.from == nil {
		return
	}
	if t := r.from.task.Load(); t != nil {
		t.launch()
	}
}

// Test tells whether the operation ended. If so, it acts like Wait (MPI_Test; MPI-4.1, 3.7.3).
func (r Request) Test() (Status, bool, error) {
	if r.from == nil {
		return emptyStatus, true, nil
	}
	c := r.from.comm
	if c == nil {
		return emptyStatus, true, r.orphaned()
	}
	call := c.enter(Call{Name: "MPI_Test", Comm: c, Peer: Undefined, Tag: Undefined})
	r.launch()
	st, done, err := r.operation().Test()
	yieldUnless(done)
	return statusOf(st), done, c.leave(call, err)
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
	c := r.from.comm
	if c == nil {
		if r.from.reported.Load() {
			return emptyStatus, true, nil
		}
		return emptyStatus, true, r.from.err
	}
	call := c.enter(Call{Name: "MPI_Request_get_status", Comm: c, Peer: Undefined, Tag: Undefined})
	r.launch()
	got, done, err := r.operation().Peek()
	yieldUnless(done)
	return statusOf(got), done, c.leave(call, err)
}

// Cancel asks the operation to end early (MPI_Cancel; MPI-4.1, 3.8.4). The request must still be
// waited for; Status.Cancelled then tells whether the operation was cancelled in time.
func (r Request) Cancel() (err error) {
	defer r.comm().call("MPI_Cancel", &err)()
	switch {
	case r.from == nil:
		return errNullRequest
	case r.from.comm == nil: // it has ended
		return nil
	}
	return r.operation().Cancel()
}

// Free releases the request; the operation continues unobserved (MPI_Request_free; MPI-4.1, 3.7.3).
// The memory of a receive must not be used any more, because the program cannot know when the
// message has arrived.
func (r Request) Free() (err error) {
	defer r.comm().call("MPI_Request_free", &err)()
	switch {
	case r.from == nil:
		return errNullRequest
	case r.from.comm == nil:
		r.from.reported.Store(true)
		return nil
	}
	r.launch()
	if r.from.start == nil {
		return r.r.Free()
	}
	r.from.mu.Lock()
	defer r.from.mu.Unlock()
	if r.from.freed {
		return errclass.New(errclass.Request, "the persistent request has been freed already")
	}
	r.from.freed = true
	if r.from.parts != nil {
		r.from.parts.free()
	}
	if r.from.round.IsNull() {
		return nil
	}
	if _, done, _ := r.from.round.Peek(); done {
		return nil
	}
	return r.from.round.Free()
}

var errNullRequest = errclass.New(errclass.Request, "the request is null: give one that a call has returned")
