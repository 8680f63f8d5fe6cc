package rma

import (
	"math"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/move"
	"github.com/viaduct-hpc/viaduct/internal/spin"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/apply"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/wire"
)

// Operations on memory within reach: that of this process, and that of processes of this host in a
// window that Allocate or AllocateShared made. They are complete when they return, without the
// target's help.

// direct does an operation.
func (w *Win) direct(a *action, p *peer) error {
	switch a.kind {
	case wire.Put:
		return a.put(p.mem)
	case wire.Get:
		return a.get(p.mem)
	case wire.Compare:
		next, _ := a.in.piece()
		expect, _ := a.with.piece()
		old, _ := a.out.piece()
		return apply.Swap(a.elem, p.mem[a.base:][:a.elem.Size()], expect, next, old, &p.atom)
	}
	return a.combine(p)
}

// put copies the origin's memory to the target's.
func (a *action) put(mem []byte) error {
	if src, ok := a.in.piece(); ok {
		for len(src) > 0 {
			off, n := a.runs.Next(math.MaxInt)
			move.Copy(mem[a.base+off:][:n], src)
			src = src[n:]
		}
		return nil
	}
	c, err := a.in.cursor()
	if err != nil {
		return err
	}
	for a.runs.Left() > 0 {
		off, n := a.runs.Next(math.MaxInt)
		c.Pack(mem[a.base+off:][:n])
	}
	return nil
}

// get copies the target's memory to the result.
func (a *action) get(mem []byte) error {
	if dst, ok := a.out.piece(); ok {
		for len(dst) > 0 {
			off, n := a.runs.Next(math.MaxInt)
			move.Copy(dst, mem[a.base+off:][:n])
			dst = dst[n:]
		}
		return nil
	}
	c, err := a.out.cursor()
	if err != nil {
		return err
	}
	for a.runs.Left() > 0 {
		off, n := a.runs.Next(math.MaxInt)
		c.Unpack(mem[a.base+off:][:n])
	}
	return nil
}

// combine does an accumulate. The usual one, of contiguous memory everywhere, is one step.
func (a *action) combine(p *peer) error {
	in, inOK := []byte(nil), true
	if a.in.t != nil {
		in, inOK = a.in.piece()
	}
	old, oldOK := []byte(nil), true
	if a.out.t != nil {
		old, oldOK = a.out.piece()
	}
	runs := a.runs
	off, n := runs.Next(math.MaxInt)
	if inOK && oldOK && runs.Left() == 0 {
		one := [1]apply.Run{{Off: a.base + off, Len: n}}
		return apply.Do(a.op, a.elem, p.mem, one[:], in, old, &p.atom)
	}
	return a.combinePieces(p)
}

// combinePieces does an accumulate in pieces of whole elements.
func (a *action) combinePieces(p *peer) error {
	s := stagings.Get().(*staging)
	defer stagings.Put(s)
	ps := pieces{a: a}
	if err := ps.open(); err != nil {
		return err
	}
	for a.runs.Left() > 0 {
		n := 0
		s.runs, n = ps.next(s.runs[:0], stagingBytes, nil)
		var in, old []byte
		if a.in.t != nil {
			in = s.in[:n]
			ps.in.Pack(in)
		}
		if a.out.t != nil {
			old = s.old[:n]
		}
		if err := apply.Do(a.op, a.elem, p.mem, s.runs, in, old, &p.atom); err != nil {
			return err
		}
		if old != nil {
			ps.out.Unpack(old)
		}
	}
	return nil
}

// stagingBytes is how much of a non-contiguous accumulate is combined at a time.
const stagingBytes = 8 << 10

// A staging is memory for one piece.
type staging struct {
	in, old [stagingBytes]byte
	runs    []apply.Run
}

var stagings = sync.Pool{New: func() any { return new(staging) }}

// An atomLock is the lock of a rank's part for elements that no instruction of the processor
// changes: in the shared region, or this process's own if no other process reaches its memory.
type atomLock struct {
	w     *Win
	rank  int
	local sync.Mutex
}

// atomSpins is how often a process looks at the lock of an element before it lets others run, and
// atomYields how often it does that before it looks for the holder.
const (
	atomSpins  = 100
	atomYields = 100
)

// Lock implements apply.Locker.
func (l *atomLock) Lock() error {
	w := l.w
	if w.locks == nil {
		l.local.Lock()
		return nil
	}
	for i := 0; !w.locks.TryAtom(l.rank); i++ {
		switch {
		case i < atomSpins:
			spin.Relax()
		case i%atomYields != 0:
			yield()
		default:
			if err := w.died(w.locks.AtomHolder(l.rank)); err != nil {
				return err
			}
			w.engine.Progress()
			nap()
		}
	}
	return nil
}

// Unlock implements apply.Locker.
func (l *atomLock) Unlock() {
	if l.w.locks == nil {
		l.local.Unlock()
		return
	}
	l.w.locks.UnlockAtom(l.rank)
}

// died returns an error if a rank that holds a lock has died, or does not exist.
func (w *Win) died(holder int) error {
	if holder == -1 {
		return nil
	}
	if uint(holder) >= uint(len(w.peers)) {
		return errclass.New(errclass.RMASync, "a lock of the window is held by rank %d, which does not exist: a process has overwritten it", holder)
	}
	p := w.peers[holder].proc
	p.Watch()
	if err := p.Gone(); err != nil {
		return errclass.Wrap(errclass.ProcFailed, err, "rank %d held a lock of the window", holder)
	}
	return nil
}
