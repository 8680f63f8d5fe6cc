package rma

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/wire"
)

// Puts and gets on memory that is not mapped, over a method with remote access: RDMA, without the
// target's help. The first put or get at a rank is a call, and another call asks the target for a key
// (expose.go). If anything is in the way of an operation later, it is a call, too: the target knows
// what is wrong. Accumulates are always calls, so that there is one place of atomicity.

// A reacher reads and writes memory of another process.
type reacher interface {
	Write(off uint64, from []byte) error
	Read(off uint64, to []byte) error
}

// hookReacher changes what operations use, in tests.
var hookReacher func(reacher) reacher

// A stretch is memory of a rank that is exposed to this process.
type stretch struct {
	base, size uint64 // in the rank's part; the base is an address in a dynamic window
	key        []byte
	once       sync.Once
	to         reacher // nil: the key is of no use; set by once
}

// reach has the keys of this process to exposed memory of a rank.
type reach struct {
	asking atomic.Bool
	never  atomic.Bool                // the rank cannot expose memory to this process
	failed atomic.Int32               // keys that were of no use, in a row
	known  atomic.Pointer[[]*stretch] // replaced by copies, under mu
	mu     sync.Mutex
}

// failuresMax is the number of useless keys in a row after which no more keys are requested.
const failuresMax = 16

// reachRunMin is how long the runs of a derived type must be. Shorter ones are faster in calls, which
// take many at once.
const reachRunMin = 512

// find returns the stretch that has the bytes from an offset on.
func (r *reach) find(off, n uint64) *stretch {
	known := r.known.Load()
	if known == nil {
		return nil
	}
	for _, s := range *known {
		if in := off - s.base; off >= s.base && in < s.size && n <= s.size-in {
			return s
		}
	}
	return nil
}

// reacher returns what operations on a stretch use, or nil.
func (w *Win) reacher(s *stretch, rank int) reacher {
	s.once.Do(func() {
		if to, ok := w.scope.Reach(rank, s.key); ok {
			s.to = to
			if hookReacher != nil {
				s.to = hookReacher(to)
			}
		}
	})
	return s.to
}

// across does a put or get on exposed memory. If it returns false, the operation must be done by calls,
// from its beginning.
func (w *Win) across(a *action, rank int) bool {
	p := &w.peers[rank]
	if a.kind != wire.Put && a.kind != wire.Get || p.reach.known.Load() == nil {
		return false
	}
	if !a.runs.t.Contiguous() {
		first := a.runs
		if _, n := first.Next(math.MaxInt); n < reachRunMin && n < a.runs.Left() {
			return false
		}
	}
	m := mover{w: w, rank: rank, base: a.base, runs: a.runs, get: a.kind == wire.Get}
	here := &a.in
	if m.get {
		here = &a.out
	}
	if whole, ok := here.piece(); ok {
		return m.move(whole)
	}
	return m.moveCopies(here)
}

// A mover moves the bytes of a put or get. After a failure any part of them may have been moved.
type mover struct {
	w    *Win
	rank int
	base int
	runs runs
	get  bool
}

// move moves from or to contiguous memory.
func (m *mover) move(mem []byte) bool {
	for len(mem) > 0 {
		off, n := m.runs.Next(math.MaxInt)
		if !m.run(off, mem[:n]) {
			return false
		}
		mem = mem[n:]
	}
	return true
}

// moveCopies moves from or to memory that is not contiguous, in contiguous pieces.
func (m *mover) moveCopies(here *memory) bool {
	c, err := here.cursor()
	if err != nil {
		return false // the calls will fail with it
	}
	s := stagings.Get().(*staging)
	defer stagings.Put(s)
	for m.runs.Left() > 0 {
		off, n := m.runs.Next(stagingBytes)
		piece := s.in[:n]
		if !m.get {
			c.Pack(piece)
		}
		if !m.run(off, piece) {
			return false
		}
		if m.get {
			c.Unpack(piece)
		}
	}
	return true
}

// run moves one run.
func (m *mover) run(off int, mem []byte) bool {
	p := &m.w.peers[m.rank]
	at := uint64(m.base + off)
	s := p.reach.find(at, uint64(len(mem)))
	if s == nil {
		return false
	}
	to := m.w.reacher(s, m.rank)
	if to == nil {
		p.reach.forget(s)
		return false
	}
	var err error
	if m.get {
		err = to.Read(at-s.base, mem)
	} else {
		err = to.Write(at-s.base, mem)
	}
	switch {
	case err == nil:
		if p.reach.failed.Load() != 0 {
			p.reach.failed.Store(0)
		}
		return true
	case !errors.Is(err, core.ErrReachBusy):
		p.reach.forget(s) // it was detached, or the connection has changed
	}
	return false
}

// forget removes a stretch whose key does not work.
func (r *reach) forget(s *stretch) {
	if r.failed.Add(1) >= failuresMax {
		r.never.Store(true)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known.Load(); known != nil {
		fewer := slices.DeleteFunc(slices.Clone(*known), func(k *stretch) bool { return k == s })
		r.known.Store(&fewer)
	}
}

// learn adds a stretch.
func (r *reach) learn(s *stretch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var more []*stretch
	if known := r.known.Load(); known != nil {
		more = slices.DeleteFunc(slices.Clone(*known), func(k *stretch) bool { return k.base == s.base })
	}
	more = append(more, s)
	if len(more) > exposuresMax {
		more = more[1:]
	}
	r.known.Store(&more)
}

// ask asks a rank for a key to the memory of a put or get that has begun as a call, unless it is known
// to have none. A flush waits for the answer, too.
func (w *Win) ask(a *action, rank int) {
	p := &w.peers[rank]
	if a.kind != wire.Put && a.kind != wire.Get || p.mem != nil || rank == w.me || p.reach.never.Load() {
		return
	}
	first := a.runs
	off, n := first.Next(math.MaxInt)
	at := uint64(a.base + off)
	if n < min(reachRunMin, a.runs.Left()) || p.reach.find(at, 1) != nil || !p.reach.asking.CompareAndSwap(false, true) {
		return
	}
	if !w.scope.MayReach(rank) {
		p.reach.never.Store(true)
		return
	}
	p.pending.Add(1)
	q := &question{w: w, p: p, off: at}
	if _, err := w.scope.Call(rank, false, wire.HeadBytes+wire.ExposeBytes, q); err != nil {
		q.Ended(err)
	}
}

// A question is the call that asks for a key. It implements core.Caller.
type question struct {
	w   *Win
	p   *peer
	off uint64
}

// Next implements core.Caller.
func (q *question) Next(b []byte, _ int) ([]byte, bool) {
	b = wire.Head{Kind: wire.Expose}.Append(b)
	return binary.LittleEndian.AppendUint64(b, q.off), true
}

// Returned implements core.Caller.
func (q *question) Returned(_ int, body []byte) (err error, breach bool) {
	data, err, breach := answered(body)
	if err != nil {
		if errors.Is(err, errNotExposed) {
			q.p.reach.never.Store(true)
		}
		return err, breach
	}
	x, err := wire.ParseExposed(data)
	if err != nil {
		return err, true
	}
	q.p.reach.learn(&stretch{base: x.Off, size: x.Length, key: x.Key[:]})
	return nil, false
}

// Ended implements core.Caller. An error means that operations go on as calls.
func (q *question) Ended(error) {
	q.p.reach.asking.Store(false)
	q.p.pending.Add(-1)
}
