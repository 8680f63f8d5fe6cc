package core

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// WaitAny waits until one of the requests ended, and returns its index; -1 if all are null, ended
// or inactive (MPI-4.1, 3.7.5).
func (e *Engine) WaitAny(ctx context.Context, rs []Request) (int, Status, error) {
	for {
		i, st, ok, err := e.anyOf(rs)
		if ok {
			return i, st, err
		}
		if err := e.awaitAny(ctx, rs); err != nil {
			return -1, Status{}, err
		}
	}
}

// TestAny is WaitAny without waiting; ok is true if a request ended, or if none is active.
func (e *Engine) TestAny(rs []Request) (i int, st Status, ok bool, err error) {
	e.progressFor(rs)
	return e.anyOf(rs)
}

// anyOf collects the first request that ended. ok is also true if there is nothing to wait for.
func (e *Engine) anyOf(rs []Request) (i int, st Status, ok bool, err error) {
	short := e.mu.lockShort()
	defer e.mu.endUnsent(short)
	idle := true
	for i, r := range rs {
		if r.idleLocked() {
			continue
		}
		idle = false
		if r.op.state == opDone {
			st, err := r.collect()
			return i, st, true, err
		}
	}
	return -1, Empty, idle, nil
}

// WaitSome waits until at least one request ended, and appends the indices of all that ended to
// indices; none if all are null, ended or inactive. statuses and errs have the length of rs, or are
// nil. If an operation failed, the error is errclass.InStatus.
func (e *Engine) WaitSome(ctx context.Context, rs []Request, indices []int, statuses []Status, errs []error) ([]int, error) {
	for {
		out, idle, err := e.someOf(rs, indices, statuses, errs)
		if idle || len(out) > len(indices) {
			return out, err
		}
		if err := e.awaitAny(ctx, rs); err != nil {
			return out, err
		}
	}
}

// TestSome is WaitSome without waiting.
func (e *Engine) TestSome(rs []Request, indices []int, statuses []Status, errs []error) ([]int, error) {
	e.progressFor(rs)
	out, _, err := e.someOf(rs, indices, statuses, errs)
	return out, err
}

func (e *Engine) someOf(rs []Request, out []int, statuses []Status, errs []error) (_ []int, idle bool, err error) {
	short := e.mu.lockShort()
	defer e.mu.endUnsent(short)
	idle = true
	for i, r := range rs {
		if r.idleLocked() {
			continue
		}
		idle = false
		if r.op.state == opDone {
			err = result(err, i, r, statuses, errs)
			out = append(out, i)
		}
	}
	return out, idle, err
}

// WaitAll waits until all requests ended. statuses and errs have the length of rs, or are nil. If
// an operation failed, the error is errclass.InStatus.
func (e *Engine) WaitAll(ctx context.Context, rs []Request, statuses []Status, errs []error) error {
	i := readies(rs) // all requests before index i are ready, and stay so
	if i < len(rs) {
		if err := e.await(ctx, func() bool { i += readies(rs[i:]); return i == len(rs) }); err != nil {
			return err
		}
	}
	return e.collectAll(rs, statuses, errs)
}

// TestAll tells whether all requests ended; if not, it collects none.
func (e *Engine) TestAll(rs []Request, statuses []Status, errs []error) (bool, error) {
	if readies(rs) < len(rs) {
		e.Progress()
		if readies(rs) < len(rs) {
			return false, nil
		}
	}
	return true, e.collectAll(rs, statuses, errs)
}

// collectAll collects requests each of which has been ready.
func (e *Engine) collectAll(rs []Request, statuses []Status, errs []error) (err error) {
	short := e.mu.lockShort()
	defer e.mu.endUnsent(short)
	plain := statuses == nil && errs == nil
	for i, r := range rs {
		switch {
		case plain && r.unreportedLocked():
			e.recycle(r.op)
		case r.idleLocked() || r.op.state == opActive: // another call has collected it, and perhaps even restarted it
			if statuses != nil {
				statuses[i] = Empty
			}
			if errs != nil {
				errs[i] = nil
			}
		default:
			err = result(err, i, r, statuses, errs)
		}
	}
	return err
}

// result collects one of several requests.
func result(before error, i int, r Request, statuses []Status, errs []error) error {
	st, err := r.collect()
	if statuses != nil {
		statuses[i] = st
	}
	if errs != nil {
		errs[i] = err
	}
	if err == nil || before != nil {
		return before
	}
	return errclass.Wrap(errclass.InStatus, err, "request %d of several failed", i)
}

// progressFor polls unless all requests have ended already.
func (e *Engine) progressFor(rs []Request) {
	if readies(rs) < len(rs) {
		e.Progress()
	}
}

// awaitAny waits until one of the active requests has ended.
func (e *Engine) awaitAny(ctx context.Context, rs []Request) error {
	var few [32]Request
	active := few[:0]
	short := e.mu.lockShort()
	for _, r := range rs {
		if !r.idleLocked() {
			active = append(active, r)
		}
	}
	e.mu.endUnsent(short)
	if len(active) == 0 {
		return nil // another goroutine has collected the last of them
	}
	return e.await(ctx, func() bool {
		for _, r := range active {
			if r.ready() {
				return true
			}
		}
		return false
	})
}

// readies returns the number of leading requests that are not active.
func readies(rs []Request) int {
	for i, r := range rs {
		if r.op != nil && !r.ready() {
			return i
		}
	}
	return len(rs)
}
