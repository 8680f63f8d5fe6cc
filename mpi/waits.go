package mpi

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Requests are several requests of one process, which are waited for, tested or started together
// (MPI-4.1, 3.7.5). Where a call takes statuses, these are as many, or nil; it stores the Status and
// the error of request i in statuses[i]. If an operation failed, the error has class ErrInStatus and
// wraps the error of the first one.
type Requests []Request

// WaitAll waits until all requests have ended (MPI_Waitall; MPI-4.1, 3.7.5). See Requests.WaitAll.
func WaitAll(ctx context.Context, reqs ...Request) error { return Requests(reqs).WaitAll(ctx, nil) }

// WaitAll waits until all requests have ended (MPI_Waitall; MPI-4.1, 3.7.5). If ctx ends first, it
// returns ctx's error, and no request changes.
func (reqs Requests) WaitAll(ctx context.Context, statuses []Status) (err error) {
	c := reqs.comm()
	call := c.enter(Call{Name: "MPI_Waitall", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, statuses)
	if err != nil {
		return err
	}
	defer set.free()
	ctx = orBackground(ctx)
	if set.tasks {
		for _, r := range reqs {
			r.help(ctx)
		}
	}
	if set.engine != nil {
		err = set.engine.WaitAll(ctx, set.rs, set.sts, set.errs)
		if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return err
		}
	}
	return set.report(reqs, statuses, err)
}

// TestAll tells whether all requests have ended; if not, none changes (MPI_Testall; MPI-4.1, 3.7.5).
func (reqs Requests) TestAll(statuses []Status) (done bool, err error) {
	c := reqs.comm()
	call := c.enter(Call{Name: "MPI_Testall", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, statuses)
	if err != nil {
		return false, err
	}
	defer set.free()
	set.launch(reqs)
	if set.engine != nil {
		done, err = set.engine.TestAll(set.rs, set.sts, set.errs)
		yieldUnless(done)
		if !done {
			return false, err
		}
	}
	return true, set.report(reqs, statuses, err)
}

// WaitAny waits until one of the requests has ended, and returns its index, Status and error
// (MPI_Waitany; MPI-4.1, 3.7.5). The index is Undefined if all are null, ended or inactive, or if
// ctx ends first.
func (reqs Requests) WaitAny(ctx context.Context) (i int, st Status, err error) {
	c := reqs.comm()
	call := c.enter(Call{Name: "MPI_Waitany", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, nil)
	if err != nil {
		return Undefined, emptyStatus, err
	}
	defer set.free()
	if i, err := set.orphan(reqs); err != nil {
		return i, emptyStatus, err
	}
	if set.engine == nil {
		return Undefined, emptyStatus, nil
	}
	set.launch(reqs)
	i, got, err := set.engine.WaitAny(orBackground(ctx), set.rs)
	return indexOf(i), statusOf(got), err
}

// TestAny is WaitAny without waiting (MPI_Testany; MPI-4.1, 3.7.5). done is true if a request has
// ended, or if there is none to wait for; then the index is Undefined.
func (reqs Requests) TestAny() (i int, st Status, done bool, err error) {
	c := reqs.comm()
	call := c.enter(Call{Name: "MPI_Testany", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, nil)
	if err != nil {
		return Undefined, emptyStatus, false, err
	}
	defer set.free()
	if i, err := set.orphan(reqs); err != nil {
		return i, emptyStatus, true, err
	}
	if set.engine == nil {
		return Undefined, emptyStatus, true, nil
	}
	set.launch(reqs)
	i, got, done, err := set.engine.TestAny(set.rs)
	yieldUnless(done)
	return indexOf(i), statusOf(got), done, err
}

// WaitSome waits until at least one of the requests has ended, and appends the indices of all that
// have to indices; none if all are null, ended or inactive (MPI_Waitsome; MPI-4.1, 3.7.5).
func (reqs Requests) WaitSome(ctx context.Context, indices []int, statuses []Status) (_ []int, err error) {
	c := reqs.comm()
	call := c.enter(Call{Name: "MPI_Waitsome", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, statuses)
	if err != nil {
		return indices, err
	}
	defer set.free()
	set.launch(reqs)
	if set.engine == nil || set.orphans {
		return set.testSome(reqs, indices, statuses)
	}
	ended, err := set.engine.WaitSome(orBackground(ctx), set.rs, indices, set.sts, set.errs)
	set.reportSome(statuses, ended[len(indices):])
	return ended, err
}

// TestSome is WaitSome without waiting (MPI_Testsome; MPI-4.1, 3.7.5).
func (reqs Requests) TestSome(indices []int, statuses []Status) (_ []int, err error) {
	c := reqs.comm()
	call := c.enter(Call{Name: "MPI_Testsome", Comm: c, Peer: Undefined, Tag: Undefined})
	defer func() { err = c.leave(call, err) }()
	set, err := newWaitSet(reqs, statuses)
	if err != nil {
		return indices, err
	}
	defer set.free()
	set.launch(reqs)
	ended, err := set.testSome(reqs, indices, statuses)
	yieldUnless(len(ended) > len(indices))
	return ended, err
}

// testSome collects the requests that have ended.
func (s *waitSet) testSome(reqs []Request, indices []int, statuses []Status) (ended []int, err error) {
	ended = indices
	if s.engine != nil {
		ended, err = s.engine.TestSome(s.rs, indices, s.sts, s.errs)
		s.reportSome(statuses, ended[len(indices):])
	}
	for s.orphans {
		i, oerr := s.orphan(reqs)
		if oerr == nil {
			break
		}
		if statuses != nil {
			statuses[i] = emptyStatus
			statuses[i].Err = oerr
		}
		if err == nil {
			err = inStatus(i, oerr)
		}
		ended = append(ended, i)
	}
	return ended, err
}

// A waitSet holds the engine's view of several requests. Sets are reused, so that waiting allocates
// nothing.
type waitSet struct {
	engine  *core.Engine // nil: there is nothing to wait for
	tasks   bool         // some are of collective operations
	orphans bool         // some are orphans to report; to the engine these are null requests
	rs      []core.Request
	sts     []core.Status // nil unless the caller wants statuses
	errs    []error       // nil, or one for each status
}

var waitSets = sync.Pool{New: func() any { return new(waitSet) }}

// newWaitSet makes a set from the present state of the requests.
func newWaitSet(reqs []Request, statuses []Status) (*waitSet, error) {
	if statuses != nil && len(statuses) != len(reqs) {
		return nil, errclass.New(errclass.Arg, "%d statuses for %d requests: give as many, or nil", len(statuses), len(reqs))
	}
	set := waitSets.Get().(*waitSet)
	set.rs = slices.Grow(set.rs, len(reqs))[:len(reqs)]
	if statuses != nil {
		set.sts, set.errs = make([]core.Status, len(reqs)), make([]error, len(reqs))
	}
	var last *origin // most requests come from where the one before them did
	for i := range reqs {
		r := &reqs[i]
		if r.from != last && r.from != nil {
			last = r.from
			if err := set.add(last); err != nil {
				set.free()
				return nil, err
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

// add adds a request's origin. All requests must have the same engine.
func (s *waitSet) add(from *origin) error {
	if from.comm == nil {
		s.orphans = s.orphans || !from.reported.Load()
		return nil
	}
	engine := from.comm.p.engine
	if s.engine != nil && s.engine != engine {
		return errclass.New(errclass.Request, "the requests belong to several processes: wait for those of one at a time")
	}
	s.engine = engine
	s.tasks = s.tasks || from.task.Load() != nil
	return nil
}

// launch starts the goroutines of tasks, because no caller waits for each of them.
func (s *waitSet) launch(reqs []Request) {
	if !s.tasks {
		return
	}
	for _, r := range reqs {
		r.launch()
	}
}

// orphan returns the index and the error of an orphan that has not been reported.
func (s *waitSet) orphan(reqs []Request) (int, error) {
	if !s.orphans {
		return Undefined, nil
	}
	for i, r := range reqs {
		if err := r.orphaned(); err != nil {
			return i, err
		}
	}
	return Undefined, nil
}

// report stores the results of requests that have all ended. err is that of the engine's.
func (s *waitSet) report(reqs []Request, statuses []Status, err error) error {
	for i := range statuses {
		s.reportOne(statuses, i)
	}
	for s.orphans {
		i, oerr := s.orphan(reqs)
		if oerr == nil {
			break
		}
		if statuses != nil {
			statuses[i].Err = oerr
		}
		if err == nil {
			err = inStatus(i, oerr)
		}
	}
	return err
}

// inStatus returns the error of a call on several requests of which request i failed.
func inStatus(i int, err error) error {
	return errclass.Wrap(errclass.InStatus, err, "request %d of several failed", i)
}

// reportSome stores the results of some requests.
func (s *waitSet) reportSome(statuses []Status, ended []int) {
	if statuses == nil {
		return
	}
	for _, i := range ended {
		s.reportOne(statuses, i)
	}
}

// reportOne stores the result of a request.
func (s *waitSet) reportOne(statuses []Status, i int) {
	statuses[i] = emptyStatus
	if s.engine != nil {
		statuses[i] = statusOf(s.sts[i])
		statuses[i].Err = s.errs[i]
	}
}

// free makes the set available to another wait.
func (s *waitSet) free() {
	clear(s.rs)
	s.engine, s.tasks, s.orphans, s.rs, s.sts, s.errs = nil, false, false, s.rs[:0], nil, nil
	waitSets.Put(s)
}

// indexOf converts the engine's index.
func indexOf(i int) int {
	if i < 0 {
		return Undefined
	}
	return i
}

// comm returns the communicator of the first request that has one. Its hook and error handler are
// used for calls on several requests.
func (reqs Requests) comm() *Comm {
	for i := range reqs {
		if c := reqs[i].comm(); c != nil {
			return c
		}
	}
	return nil
}
