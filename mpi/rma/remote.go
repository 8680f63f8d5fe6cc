package rma

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/wire"
)

// Operations on memory out of reach: calls that the target's server executes. An operation is one or
// more calls, which the target executes in order.

// A remote is an operation in calls. It implements core.Caller.
type remote struct {
	w      *Win
	rank   int
	a      action
	pieces pieces
	list   wire.RunList
	starts []int // where in the result each call's bytes begin
	at     int   // where the next one's do
	free   bool  // the origin's memory is not used any more
}

// beginCalls begins an operation.
func (w *Win) beginCalls(a *action, rank int) (core.Request, error) {
	r := &remote{w: w, rank: rank, a: *a}
	r.pieces.a = &r.a
	if err := r.pieces.open(); err != nil {
		return core.Request{}, err
	}
	p := &w.peers[rank]
	p.pending.Add(1)
	p.using.Add(1)
	q, err := w.scope.Call(rank, false, wire.HeadBytes+2*wire.GroupBytesMax+2*a.runs.Left(), r)
	if err != nil {
		r.release()
		p.pending.Add(-1)
	}
	return q, err
}

// release notes that the operation does not use memory of this process any more.
func (r *remote) release() {
	if !r.free {
		r.free = true
		r.w.peers[r.rank].using.Add(-1)
	}
}

// Next implements core.Caller.
func (r *remote) Next(b []byte, room int) (_ []byte, last bool) {
	n := 0
	r.list.Reset()
	if r.a.kind == wire.Compare {
		n = r.a.runs.Left()
		r.list.Add(uint64(r.a.base), uint32(n))
		r.a.runs.Next(n)
	} else {
		_, n = r.pieces.next(nil, room-wire.HeadBytes, &r.list)
	}
	b = r.list.Append(b, wire.Head{Kind: r.a.kind, Op: uint8(r.a.op), Elem: uint8(r.a.elem)})
	if r.a.kind == wire.Compare {
		with, _ := r.a.with.piece()
		b = append(b, with...)
	}
	if r.a.in.t != nil {
		at := len(b)
		b = append(b, make([]byte, n)...)
		r.pieces.in.Pack(b[at:])
	}
	r.starts = append(r.starts, r.at)
	r.at += n
	last = r.a.runs.Left() == 0
	if last && r.a.out.t == nil {
		r.release() // all bytes are copied
	}
	return b, last
}

// Returned implements core.Caller.
func (r *remote) Returned(n int, body []byte) (err error, breach bool) {
	data, err, breach := answered(body)
	if err != nil {
		return err, breach
	}
	want := 0
	if r.a.out.t != nil {
		end := r.at
		if n+1 < len(r.starts) {
			end = r.starts[n+1]
		}
		want = end - r.starts[n]
	}
	if len(data) != want {
		return errclass.New(errclass.Intern, "the target returned %d bytes instead of %d", len(data), want), true
	}
	if want > 0 {
		c := r.pieces.out
		c.Rewind()
		c.Skip(r.starts[n])
		c.Unpack(data)
	}
	return nil, false
}

// Ended implements core.Caller.
func (r *remote) Ended(err error) {
	r.release()
	r.w.ended(r.rank, err)
}

// ended records the end of an operation at a rank.
func (w *Win) ended(rank int, err error) {
	if err != nil {
		w.note(rank, err)
	}
	w.peers[rank].pending.Add(-1)
}

// answered returns the data of an answer, or the error that it reports.
func answered(body []byte) (data []byte, err error, breach bool) {
	if len(body) == 0 {
		return nil, errclass.New(errclass.Win, "the target does not have the window: it has freed it, or failed to make it"), false
	}
	result, data, err := wire.ParseResult(body)
	if err != nil {
		return nil, err, true
	}
	return data, errorOf(result), false
}

// errorOf returns the error of a result.
func errorOf(r wire.Result) error {
	switch r {
	case wire.Done:
		return nil
	case wire.NoRange:
		return errclass.New(errclass.RMARange, "the target has no such bytes in the window")
	case wire.NoAttach:
		return errclass.New(errclass.RMARange, "the target has not attached this memory to the window: give an address that Attach returned there, plus an offset")
	case wire.HolderDied:
		return errclass.New(errclass.ProcFailed, "a process died while it held the lock, so the memory that it protects may be half changed")
	case wire.NotHeld:
		return errclass.New(errclass.RMASync, "the target says that it is not locked by this process")
	case wire.NotExposed:
		return errNotExposed
	case wire.HeldTwice:
		return errclass.New(errclass.RMASync, "the target says that it is locked by this process already")
	}
	return errclass.New(errclass.Other, "the target could not move the data")
}

// errNotExposed: operations at a rank must be calls.
var errNotExposed = errclass.New(errclass.Other, "the target cannot expose its memory to this process")

var errMalformed = errors.New("a request to a window that no process sends")
