package rma

import (
	"math"
	"runtime"

	"github.com/viaduct-hpc/viaduct/internal/move"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/apply"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/wire"
)

// The operations (MPI-4.1, 12.3). None of them waits. Each returns a Request, which may be ignored:
// the operation is complete when the Request has ended, or a flush, or the epoch. The memory of the
// operation belongs to the library until then.
//
// An operation that fails ends its Request with the error, and so does one that cannot begin. The
// first error of an epoch is also returned by the flush or the end of the epoch that completes the
// operation, so a program that ignores Requests loses none.

// Put copies b to the target (MPI_Put, MPI_Rput; MPI-4.1, 12.3.1 and 12.3.5).
func (w *Win) Put(b mpi.Buffer, to Target) mpi.Request {
	mem, origin, count, t, err := b.Memory()
	if err == nil {
		if target := w.quick(t, count, &to); target != nil {
			entered := w.enter("MPI_Rput", to.rank, len(target))
			move.Copy(target, mem[origin:])
			w.leave(entered, nil)
			runtime.KeepAlive(w)
			return mpi.Request{}
		}
	}
	in, err := memoryOf(b)
	return w.do(action{name: "MPI_Rput", kind: wire.Put, in: in}, to, err)
}

// Get copies from the target to b (MPI_Get, MPI_Rget; MPI-4.1, 12.3.2 and 12.3.5).
func (w *Win) Get(b mpi.Buffer, from Target) mpi.Request {
	mem, origin, count, t, err := b.Memory()
	if err == nil {
		if target := w.quick(t, count, &from); target != nil {
			entered := w.enter("MPI_Rget", from.rank, len(target))
			move.Copy(mem[origin:], target)
			w.leave(entered, nil)
			runtime.KeepAlive(w)
			return mpi.Request{}
		}
	}
	out, err := memoryOf(b)
	return w.do(action{name: "MPI_Rget", kind: wire.Get, out: out}, from, err)
}

// Accumulate combines b with the target: target = target op b, each element atomically with respect
// to other accumulates of the same type. op is a predefined operator (MPI_Accumulate,
// MPI_Raccumulate; MPI-4.1, 12.3.4 and 12.3.5).
func (w *Win) Accumulate(b mpi.Buffer, to Target, op *mpi.Op) mpi.Request {
	in, err := memoryOf(b)
	return w.do(action{name: "MPI_Raccumulate", kind: wire.Accumulate, in: in, of: op}, to, err)
}

// GetAccumulate is Accumulate, and stores the former elements of the target in result. With NoOp, b
// is not used and may be InPlace (MPI_Get_accumulate, MPI_Rget_accumulate; MPI-4.1, 12.3.4).
func (w *Win) GetAccumulate(b, result mpi.Buffer, to Target, op *mpi.Op) mpi.Request {
	out, err := memoryOf(result)
	var in memory
	if op != mpi.NoOp && err == nil {
		in, err = memoryOf(b)
	}
	return w.do(action{name: "MPI_Rget_accumulate", kind: wire.GetAccumulate, in: in, out: out, of: op}, to, err)
}

// FetchAndOp is GetAccumulate of one element (MPI_Fetch_and_op; MPI-4.1, 12.3.4).
func (w *Win) FetchAndOp(b, result mpi.Buffer, to Target, op *mpi.Op) mpi.Request {
	if w.quickFetch(&b, &result, &to, op) {
		return mpi.Request{}
	}
	out, err := memoryOf(result)
	var in memory
	if op != mpi.NoOp && err == nil {
		in, err = memoryOf(b)
	}
	if err == nil && (out.count != 1 || to.typed) {
		err = errclass.New(errclass.Count, "one element of a predefined type is fetched, not %d: use GetAccumulate for others", out.count)
	}
	return w.do(action{name: "MPI_Fetch_and_op", kind: wire.GetAccumulate, in: in, out: out, of: op}, to, err)
}

// CompareAndSwap stores the one element of next in the target if the target equals that of expect.
// result gets the former element. Elements are integers, truth values or bytes
// (MPI_Compare_and_swap; MPI-4.1, 12.3.4).
func (w *Win) CompareAndSwap(next, expect, result mpi.Buffer, to Target) mpi.Request {
	in, err := memoryOf(next)
	var with, out memory
	if err == nil {
		with, err = memoryOf(expect)
	}
	if err == nil {
		out, err = memoryOf(result)
	}
	if err == nil && (in.count != 1 || with.count != 1 || out.count != 1 || to.typed) {
		err = errclass.New(errclass.Count, "one element of a predefined type is compared and swapped: give one in each buffer")
	}
	if err == nil && (in.t.Kind() != out.t.Kind() || with.t.Kind() != out.t.Kind()) {
		err = errclass.New(errclass.Type, "the elements to compare, to store and to return are of different types")
	}
	return w.do(action{name: "MPI_Compare_and_swap", kind: wire.Compare, in: in, with: with, out: out}, to, err)
}

// An action is a one-sided operation with its local memory.
type action struct {
	name     string
	kind     wire.Kind
	of       *mpi.Op // of an accumulate
	op       apply.Op
	elem     datatype.Kind
	in, with memory // of the origin
	out      memory // of the result
	base     int    // where the elements begin in the target's part
	runs     runs
}

// do checks an operation and begins it. err is the error of making its buffers, or nil.
func (w *Win) do(a action, to Target, err error) mpi.Request {
	if dead := w.live(); dead != nil {
		return w.refuse(to.rank, dead)
	}
	if err == nil {
		err = w.check(&a, &to)
	}
	entered := w.enter(a.name, to.rank, a.runs.Left())
	var r mpi.Request
	if err == nil && to.rank != mpi.ProcNull {
		r, err = w.begin(&a, to.rank)
	}
	w.leave(entered, err)
	runtime.KeepAlive(w)
	if err != nil {
		return w.refuse(to.rank, err)
	}
	return r
}

// begin begins an operation. It is done at once if the target's memory is mapped, or exposed to this
// process, else by messages.
func (w *Win) begin(a *action, rank int) (mpi.Request, error) {
	if a.runs.Left() == 0 {
		return mpi.Request{}, nil
	}
	if w.reaches(a, rank) {
		return mpi.Request{}, w.direct(a, &w.peers[rank])
	}
	if rank != w.me && w.across(a, rank) {
		return mpi.Request{}, nil
	}
	var r core.Request
	var err error
	asked := *a
	if a.isLong() && rank != w.me && w.peers[rank].size >= 0 {
		r = w.beginLong(a, rank)
	} else {
		r, err = w.beginCalls(a, rank)
	}
	if err != nil {
		return mpi.Request{}, err
	}
	w.ask(&asked, rank)
	return within.Request(w.comm, r), nil
}

// check checks the arguments of an operation, and finds the place in the target.
func (w *Win) check(a *action, to *Target) error {
	if to.rank == mpi.ProcNull {
		return nil
	}
	if err := w.checkRank(to.rank); err != nil {
		return err
	}
	w.mu.Lock()
	err := w.epochs.MayAccess(to.rank)
	w.permit() // the first access after a fence changes the state
	w.mu.Unlock()
	if err != nil {
		return err
	}
	here := &a.in
	if here.t == nil {
		here = &a.out
	}
	to.fill(here.count, here.t)
	if a.base, err = w.place(to); err != nil {
		return err
	}
	if err := w.checkElements(a, to); err != nil {
		return err
	}
	a.runs, err = runsOf(to.t, to.count)
	if err != nil {
		return err
	}
	for _, m := range [...]*memory{&a.in, &a.out} {
		if m.t != nil && m.bytes() != a.runs.Left() {
			return errclass.New(errclass.Type, "%d bytes of data here and %d at the target: both sides must have the same elements", m.bytes(), a.runs.Left())
		}
	}
	return nil
}

// checkElements checks the elements and the operator of an accumulate.
func (w *Win) checkElements(a *action, to *Target) (err error) {
	switch a.kind {
	case wire.Put, wire.Get:
		return nil
	case wire.Compare:
		a.elem = to.t.Kind()
		return apply.CheckSwap(a.elem)
	}
	if a.op, err = apply.OpOf(a.of); err != nil {
		return err
	}
	a.elem = to.t.Kind()
	for _, m := range [...]*memory{&a.in, &a.out} {
		if m.t != nil && m.t.Kind() != a.elem {
			return errclass.New(errclass.Type, "the elements here are %v, at the target %v: an accumulate needs one predefined type on both sides", m.t, to.t)
		}
	}
	if to.count == 0 {
		return nil
	}
	return apply.Check(a.op, a.elem)
}

// reaches tells whether an operation can be done on mapped memory.
func (w *Win) reaches(a *action, rank int) bool {
	p := &w.peers[rank]
	switch {
	case p.mem == nil:
		return false
	case a.kind == wire.Put || a.kind == wire.Get || w.locks != nil || rank == w.me:
		return true
	}
	// Some ranks do not map the memory, so the target executes their accumulates. It also executes
	// accumulates that need its lock, and those that follow others which it has not executed yet.
	run := a.runs
	off, n := run.Next(math.MaxInt)
	return run.Left() == 0 && apply.Atomic(a.elem) && n > 0 && apply.Aligned(&p.mem[a.base+off], a.elem.Size()) && p.pending.Load() == 0
}

// refuse returns the Request of an operation that cannot begin, and keeps the error for the end of
// the epoch. Both pass it to the error handler.
func (w *Win) refuse(rank int, err error) mpi.Request {
	if w == nil || w.freed.Load() {
		return within.Ended(nil, err)
	}
	w.note(rank, err)
	return within.Ended(w.comm, err)
}

// note keeps the first error of the operations at a rank.
func (w *Win) note(rank int, err error) {
	if uint(rank) < uint(len(w.peers)) {
		w.peers[rank].failed.CompareAndSwap(nil, &err)
		return
	}
	w.failed.CompareAndSwap(nil, &err)
}

// noted returns and forgets the first error of the operations at a rank.
func (w *Win) noted(rank int) error {
	if p := &w.peers[rank]; p.failed.Load() != nil {
		return *p.failed.Swap(nil)
	}
	return nil
}
