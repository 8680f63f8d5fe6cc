package mpi

import (
	"context"
	"slices"
	"sync"

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// WaitAll waits until all requests ended (MPI_Waitall; MPI-4.1, 3.7.5). If an operation failed, the
// error has class ErrInStatus and wraps the error of the first one.
func WaitAll(reqs ...Request) error { return WaitAllContext(background, reqs, nil, nil) }

// WaitAllContext is WaitAll that also returns the Status and error of each request. When ctx ends,
// it returns ctx's error, and no request changes. statuses and errs are as long as reqs, or nil.
func WaitAllContext(ctx context.Context, reqs []Request, statuses []Status, errs []error) (err error) {
	c := commOf(reqs)
	call := c.enter(Call{Name: "MPI_Waitall", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, statuses, errs)
	if err != nil {
		return err
	}
	defer set.free()
	if set.engine == nil {
		emptyResults(statuses, errs)
		return nil
	}
	ctx = orBackground(ctx)
	if set.tasks {
		for _, r := range reqs {
			r.help(ctx)
		}
	}
	return set.engine.WaitAll(ctx, set.rs, coreStatuses(statuses), errs)
}

// TestAll tells whether all requests ended; if not, none changes (MPI_Testall; MPI-4.1, 3.7.5).
// statuses and errs are as long as reqs, or nil.
func TestAll(reqs []Request, statuses []Status, errs []error) (done bool, err error) {
	c := commOf(reqs)
	call := c.enter(Call{Name: "MPI_Testall", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, statuses, errs)
	if err != nil {
		return false, err
	}
	defer set.free()
	if set.engine == nil {
		emptyResults(statuses, errs)
		return true, nil
	}
	done, err = set.engine.TestAll(set.rs, coreStatuses(statuses), errs)
	yieldUnless(done)
	return done, err
}

// WaitAny waits until one of the requests ended, and returns its index, Status and error
// (MPI_Waitany; MPI-4.1, 3.7.5). The index is Undefined if all are null, ended or inactive.
func WaitAny(reqs ...Request) (int, Status, error) { return WaitAnyContext(background, reqs) }

// WaitAnyContext is WaitAny that ends with ctx's error, and Undefined, when ctx ends.
func WaitAnyContext(ctx context.Context, reqs []Request) (i int, st Status, err error) {
	c := commOf(reqs)
	call := c.enter(Call{Name: "MPI_Waitany", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, nil, nil)
	if err != nil {
		return Undefined, emptyStatus, err
	}
	defer set.free()
	if set.engine == nil {
		return Undefined, emptyStatus, nil
	}
	i, got, err := set.engine.WaitAny(orBackground(ctx), set.rs)
	return indexOf(i), Status(got), err
}

// TestAny is WaitAny without waiting (MPI_Testany; MPI-4.1, 3.7.5). done is true if a request
// ended, or if there is none to wait for; then the index is Undefined.
func TestAny(reqs []Request) (i int, st Status, done bool, err error) {
	c := commOf(reqs)
	call := c.enter(Call{Name: "MPI_Testany", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, nil, nil)
	if err != nil {
		return Undefined, emptyStatus, false, err
	}
	defer set.free()
	if set.engine == nil {
		return Undefined, emptyStatus, true, nil
	}
	i, got, done, err := set.engine.TestAny(set.rs)
	yieldUnless(done)
	return indexOf(i), Status(got), done, err
}

// WaitSome waits until at least one of the requests ended, and appends the indices of all that
// ended to indices; none if all are null, ended or inactive (MPI_Waitsome; MPI-4.1, 3.7.5).
// statuses and errs are as long as reqs, or nil; the results of reqs[i] are stored at index i. If
// an operation failed, the error has class ErrInStatus.
func WaitSome(ctx context.Context, reqs []Request, indices []int, statuses []Status, errs []error) (_ []int, err error) {
	c := commOf(reqs)
	call := c.enter(Call{Name: "MPI_Waitsome", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, statuses, errs)
	if err != nil || set.engine == nil {
		return indices, err
	}
	defer set.free()
	return set.engine.WaitSome(orBackground(ctx), set.rs, indices, coreStatuses(statuses), errs)
}

// TestSome is WaitSome without waiting (MPI_Testsome; MPI-4.1, 3.7.5).
func TestSome(reqs []Request, indices []int, statuses []Status, errs []error) (_ []int, err error) {
	c := commOf(reqs)
	call := c.enter(Call{Name: "MPI_Testsome", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, statuses, errs)
	if err != nil || set.engine == nil {
		return indices, err
	}
	defer set.free()
	ended, err := set.engine.TestSome(set.rs, indices, coreStatuses(statuses), errs)
	yieldUnless(len(ended) > len(indices))
	return ended, err
}

// PeekAll is TestAll, but leaves the requests unchanged (MPI_Request_get_status_all; MPI-4.1,
// 3.7.6).
func PeekAll(reqs []Request, statuses []Status) (done bool, err error) {
	if err := checkResults(reqs, statuses, nil); err != nil {
		return false, err
	}
	done = true
	for i, r := range reqs {
		st, ended, perr := r.Peek()
		if perr != nil && err == nil {
			err = inStatus(i, perr)
		}
		if statuses != nil {
			statuses[i] = st
		}
		done = done && ended
	}
	if !done {
		return false, nil
	}
	return true, err
}

// inStatus returns the error of a call on several requests of which request i failed.
func inStatus(i int, err error) error {
	return errclass.Wrap(errclass.InStatus, err, "request %d of several failed", i)
}

// A waitSet holds the engine's view of several requests. Sets are reused, so that waiting allocates
// nothing.
type waitSet struct {
	engine *core.Engine // nil: all requests are null
	tasks  bool         // some are of collective operations
	rs     []core.Request
}

var waitSets = sync.Pool{New: func() any { return new(waitSet) }}

// newWaitSet makes a set from the present state of the requests.
func newWaitSet(reqs []Request, statuses []Status, errs []error) (*waitSet, error) {
	if err := checkResults(reqs, statuses, errs); err != nil {
		return nil, err
	}
	set := waitSets.Get().(*waitSet)
	set.rs = slices.Grow(set.rs, len(reqs))[:len(reqs)]
	var last *origin // most requests come from where the one before them did
	for i := range reqs {
		r := &reqs[i]
		if r.from != last && r.from != nil {
			last = r.from
			if !set.isOf(last) {
				set.free()
				return nil, errclass.New(errclass.Request, "the requests belong to several processes: wait for those of one at a time")
			}
		}
		switch {
		case r.from == nil:
			set.rs[i] = core.Request{}
		case r.from.start == nil:
			set.rs[i] = r.r
		default:
			set.rs[i] = r.operation()
		}
	}
	return set, nil
}

// isOf adds a request's origin, and tells whether its engine is that of the others.
func (s *waitSet) isOf(from *origin) bool {
	engine := from.comm.p.engine
	if s.engine != nil && s.engine != engine {
		return false
	}
	s.engine = engine
	s.tasks = s.tasks || from.task.Load() != nil
	return true
}

// free makes the set available to another wait.
func (s *waitSet) free() {
	clear(s.rs)
	s.engine, s.tasks, s.rs = nil, false, s.rs[:0]
	waitSets.Put(s)
}

// checkResults returns an error unless statuses and errs have the length of the requests.
func checkResults(reqs []Request, statuses []Status, errs []error) error {
	if statuses != nil && len(statuses) != len(reqs) {
		return errclass.New(errclass.Arg, "%d statuses for %d requests: give as many, or nil", len(statuses), len(reqs))
	}
	if errs != nil && len(errs) != len(reqs) {
		return errclass.New(errclass.Arg, "%d errors for %d requests: give as many, or nil", len(errs), len(reqs))
	}
	return nil
}

// emptyResults sets the results of null requests.
func emptyResults(statuses []Status, errs []error) {
	for i := range statuses {
		statuses[i] = emptyStatus
	}
	clear(errs)
}

// indexOf converts the engine's index.
func indexOf(i int) int {
	if i < 0 {
		return Undefined
	}
	return i
}

// commOf returns the communicator of the first request that is not null. Its hook and error handler
// are used for calls on several requests.
func commOf(reqs []Request) *Comm {
	for _, r := range reqs {
		if r.from != nil {
			return r.from.comm
		}
	}
	return nil
}
