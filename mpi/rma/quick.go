package rma

import (
	"math/bits"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/rma/apply"
)

// Most puts and gets within a host are of contiguous memory at both ends, and most elements that are
// fetched are numbers of 4 or 8 bytes. quick and quickFetch are what these need of check and begin.

// quick returns the target's memory for such an operation, and makes the window's memory stay until
// leave. ok is false if the operation is another one, or wrong.
func (w *Win) quick(m *memory, to *Target) (target []byte, ok bool) {
	if w == nil || to.typed || !m.t.Contiguous() || uint(to.rank) >= uint(len(w.peers)) || to.disp < 0 {
		return nil, false
	}
	p := &w.peers[to.rank]
	high, base := bits.Mul64(uint64(to.disp), uint64(p.unit))
	n := uint64(m.bytes())
	if all := uint64(len(p.mem)); p.mem == nil || high != 0 || base > all || n > all-base {
		return nil, false
	}
	if w.enter() != nil {
		return nil, false
	}
	w.mu.Lock()
	err := w.epochs.MayAccess(to.rank)
	w.mu.Unlock()
	if err != nil {
		w.leave()
		return nil, false
	}
	return p.mem[base:][:n], true
}

// quickFetch is FetchAndOp of a number on memory that all processes of the window map. It returns
// false, and has done nothing, if the operation is another one, or wrong, or needs a lock whose
// holder has died.
func (w *Win) quickFetch(in, out *memory, to *Target, of *mpi.Op) bool {
	if w == nil || w.locks == nil || in.t != nil && (in.t != out.t || in.count != 1) || !apply.Atomic(out.t.Kind()) {
		return false
	}
	kind := out.t.Kind()
	op, err := apply.OpOf(of)
	if err != nil || apply.Check(op, kind) != nil {
		return false
	}
	target, ok := w.quick(out, to)
	if !ok {
		return false
	}
	entered := within.Enter(w.comm, "MPI_Fetch_and_op", to.rank, len(target))
	var number []byte
	if in.t != nil {
		number = in.mem[in.origin:][:len(target)]
	}
	one := [1]apply.Run{{Off: 0, Len: len(target)}}
	err = apply.Do(op, kind, target, one[:], number, out.mem[out.origin:][:len(target)], &w.peers[to.rank].atom)
	within.Leave(w.comm, entered, err)
	w.leave()
	return err == nil
}
