package rma

import (
	"math/bits"
	"runtime"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/apply"
)

// Most puts and gets within a host move contiguous memory, and most fetched elements are numbers of 4
// or 8 bytes. quick and quickFetch do only those steps of check and begin that these operations need.
// They take no lock: such an operation with its flush costs a call, a copy and a fence of the
// processor.
//
// The memory of a window stays mapped while anything refers to the Win, also after Free. So a call
// that touches the memory only needs a runtime.KeepAlive after it.

// The bits of Win.allowed.
const (
	accessAllowed = 1 << iota
	accessFirst   // the first operation clears this
	flushAllowed
)

// permit stores what the epochs allow at all ranks. w.mu is held, and the epochs have changed.
func (w *Win) permit() {
	access, first, flush := w.epochs.Everywhere()
	allowed := uint32(0)
	if access {
		allowed |= accessAllowed
	}
	if first {
		allowed |= accessFirst
	}
	if flush {
		allowed |= flushAllowed
	}
	if w.allowed.Load() != allowed {
		w.allowed.Store(allowed)
	}
}

// heed tells the epochs that an operation has been begun without the lock. w.mu is held.
func (w *Win) heed() {
	if w.allowed.Load()&(accessAllowed|accessFirst) == accessAllowed {
		w.epochs.Used()
	}
}

// mayAccess tells whether the epochs allow an operation at a rank. If so, the operation is recorded.
func (w *Win) mayAccess(rank int) bool {
	switch allowed := w.allowed.Load(); {
	case allowed&accessFirst != 0 && w.allowed.CompareAndSwap(allowed, allowed&^accessFirst):
		return true
	case allowed&accessAllowed != 0:
		return true
	}
	w.mu.Lock()
	err := w.epochs.MayAccess(rank)
	w.mu.Unlock()
	return err == nil
}

// quick returns the target's memory for such an operation, or nil if the operation is another one, or
// wrong. t is the type of the count elements here, nil if there are none.
func (w *Win) quick(t *datatype.Type, count int, to *Target) []byte {
	if w == nil || t == nil || to.typed || !t.Contiguous() || uint(to.rank) >= uint(len(w.peers)) || to.disp < 0 {
		return nil
	}
	p := &w.peers[to.rank]
	high, base := bits.Mul64(uint64(to.disp), uint64(p.unit))
	n := uint64(count * t.Size())
	if all := uint64(len(p.mem)); p.mem == nil || high != 0 || base > all || n > all-base {
		return nil
	}
	if w.freed.Load() || !w.mayAccess(to.rank) {
		return nil
	}
	return p.mem[base:][:n]
}

// quickFetch is FetchAndOp of an aligned number on memory that all processes of the window map. It
// returns false, and has done nothing, if the operation is another one, or wrong.
func (w *Win) quickFetch(b, result *mpi.Buffer, to *Target, of *mpi.Op) bool {
	if w == nil || w.locks == nil {
		return false
	}
	old, origin, count, t, err := result.Memory()
	if err != nil || t == nil || count != 1 {
		return false
	}
	old = old[origin:]
	var number []byte
	if of != mpi.NoOp {
		mem, origin, count, theirs, err := b.Memory()
		if err != nil || theirs != t || count != 1 {
			return false
		}
		number = mem[origin:]
	}
	op, err := apply.OpOf(of)
	if err != nil || !apply.Numbers(op, t.Kind()) {
		return false
	}
	target := w.quick(t, 1, to)
	if target == nil || !apply.Aligned(&target[0], len(target)) {
		return false
	}
	entered := w.enter("MPI_Fetch_and_op", to.rank, len(target))
	apply.Number(op, t.Kind(), target, number, old)
	w.leave(entered, nil)
	runtime.KeepAlive(w)
	return true
}

// quickFlush is the flush of a rank at which nothing is pending and nothing has failed. It returns
// false, and has done nothing, in any other case.
func (w *Win) quickFlush(name string, rank int) bool {
	if w == nil || w.allowed.Load()&flushAllowed == 0 || uint(rank) >= uint(len(w.peers)) {
		return false
	}
	p := &w.peers[rank]
	if p.pending.Load() != 0 || p.failed.Load() != nil {
		return false
	}
	entered := w.enter(name, rank, 0)
	w.fence.Add(1)
	w.leave(entered, nil)
	return true
}
