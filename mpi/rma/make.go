package rma

import (
	"context"
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/info"
	"github.com/viaduct-hpc/viaduct/mpi/internal/share"
)

// A recipe is the arguments of a constructor.
type recipe struct {
	name   string
	flavor Flavor
	mem    []byte // of Create
	bytes  int
	unit   int
	hints  *info.Info
	err    error // what is wrong with the memory
}

// check returns what is wrong with the arguments, and sets defaults.
func (r *recipe) check() (hints, error) {
	h, err := hintsOf(r.hints)
	switch {
	case r.err != nil:
		return h, r.err
	case err != nil:
		return h, err
	case r.bytes < 0 || r.bytes > partBytesMax:
		return h, errclass.New(errclass.Size, "a window with %d bytes in this process: give 0 to %d", r.bytes, partBytesMax)
	case r.unit < 0 || r.unit > unitMax:
		return h, errclass.New(errclass.Disp, "displacements in steps of %d bytes: give 1 to %d, or 0 for the usual one", r.unit, unitMax)
	}
	r.unit = max(r.unit, 1)
	return h, nil
}

// watchedMax is the size of a window up to which all its processes are connected when it is made, so
// that a death is noticed at once. In a larger one a process connects to those that it waits for,
// and may take some seconds to be sure that one died before that.
const watchedMax = 64

// Limits of a window.
const (
	partBytesMax = 1 << 45
	unitMax      = 1 << 31
)

// A card is the description of a process's part that the processes of a new window exchange.
type card struct {
	class  errclass.Class // of the error in this process's arguments
	flavor Flavor
	bits   uint64 // same_size, same_disp_unit and alloc_shared_noncontig, which all must give alike
	bytes  uint64
	unit   uint64
}

const (
	cardWords = 5
	nameWords = 5 // status, pid, descriptor, nonce
)

func (c card) words() []uint64 {
	return []uint64{uint64(c.class), uint64(c.flavor), c.bits, c.bytes, c.unit}
}

func cardOf(w []uint64) card {
	return card{class: errclass.Class(w[0]), flavor: Flavor(w[1]), bits: w[2], bytes: w[3], unit: w[4]}
}

// create makes a window. An error in one process is one in all, so that none waits for the others.
func create(ctx context.Context, c *mpi.Comm, r recipe) (*Win, error) {
	if err := within.Live(c); err != nil {
		return nil, err
	}
	if c.IsInter() {
		return nil, within.Fail(c, errclass.New(errclass.Comm, "an inter-communicator has no windows: merge it first"))
	}
	entered := within.Enter(c, r.name, mpi.Undefined, r.bytes)
	w, err := makeWin(orBackground(ctx), c, r)
	within.Leave(c, entered, err)
	return w, err
}

func makeWin(ctx context.Context, c *mpi.Comm, r recipe) (*Win, error) {
	h, bad := r.check()
	comm, err := within.Dup(ctx, c)
	if err != nil {
		return nil, err
	}
	_ = comm.SetErrorHandler(nil) // until Win.SetErrorHandler; until then, errors go to the handler of c
	w := &Win{
		comm: comm, hooked: within.Hooked(comm), scope: within.Scope(comm), engine: within.Engine(comm),
		me: comm.Rank(), flavor: r.flavor, unit: r.unit, hints: h, mem: r.mem,
	}
	w.server.w = w
	cards, err := w.exchange(ctx, &r, bad)
	if err == nil {
		err = w.furnish(ctx, cards)
	}
	if err != nil {
		w.release()
		return nil, within.Fail(c, err)
	}
	within.Show(comm)
	return w, nil
}

// exchange tells the other processes about this one's part, and learns about theirs.
func (w *Win) exchange(ctx context.Context, r *recipe, bad error) ([]card, error) {
	mine := card{class: errclass.Of(bad), flavor: r.flavor, bits: w.hints.bits(), bytes: uint64(r.bytes), unit: uint64(r.unit)}
	all := make([]uint64, w.comm.Size()*cardWords)
	if err := w.comm.Allgather(ctx, mpi.Slice(mine.words()), mpi.Slice(all)); err != nil {
		return nil, err
	}
	if bad != nil {
		return nil, bad
	}
	cards := make([]card, w.comm.Size())
	for rank := range cards {
		cards[rank] = cardOf(all[rank*cardWords:])
		if err := cards[rank].fits(&mine, &w.hints, rank); err != nil {
			return nil, err
		}
	}
	return cards, nil
}

// fits returns an error if a rank's card does not fit this process's.
func (c *card) fits(mine *card, h *hints, rank int) error {
	switch {
	case c.class != errclass.Success:
		return errclass.New(c.class, "rank %d could not make its part of the window", rank)
	case c.flavor != mine.flavor:
		return errclass.New(errclass.Win, "rank %d makes a window by another constructor", rank)
	case c.bytes > partBytesMax || c.unit < 1 || c.unit > unitMax:
		return errclass.New(errclass.Size, "rank %d has %d bytes in steps of %d in the window", rank, c.bytes, c.unit)
	case c.bits != mine.bits:
		return errclass.New(errclass.Info, "rank %d gives other hints about the window", rank)
	case h.sameSize && c.bytes != mine.bytes:
		return errclass.New(errclass.Size, "rank %d has %d bytes in the window, this process %d, although the hints say that all have the same", rank, c.bytes, mine.bytes)
	case h.sameUnit && c.unit != mine.unit:
		return errclass.New(errclass.Disp, "rank %d has displacements in steps of %d, this process of %d, although the hints say that all have the same", rank, c.unit, mine.unit)
	}
	return nil
}

// bits returns the hints that all processes must give alike.
func (h *hints) bits() (bits uint64) {
	for i, b := range [...]bool{h.sameSize, h.sameUnit, h.noncontig, h.noLocks} {
		if b {
			bits |= 1 << i
		}
	}
	return bits
}

// furnish gives the window its memory, and begins to serve it.
func (w *Win) furnish(ctx context.Context, cards []card) error {
	procs := w.comm.Group().Members()
	w.peers = make([]peer, len(cards))
	for rank := range w.peers {
		p := &w.peers[rank]
		p.proc, p.size, p.unit = procs[rank], int(cards[rank].bytes), int(cards[rank].unit)
		p.atom.w, p.atom.rank = w, rank
		if w.flavor == Dynamic {
			p.size = -1
		}
	}
	if w.flavor == Allocated || w.flavor == Shared {
		if err := w.allocate(ctx, cards); err != nil {
			return err
		}
	}
	if w.flavor != Dynamic {
		if w.mem == nil {
			w.mem = empty
		}
		w.peers[w.me].mem = w.mem
	}
	w.scope.Serve(&w.server)
	if len(w.peers) <= watchedMax {
		for _, p := range procs[w.me:] { // one of each pair connects
			p.Watch()
		}
	}
	return within.Barrier(ctx, w.comm) // no operation comes before all serve
}

// allocate gets the memory: one region for the processes of each host, or else memory of each
// process's own.
func (w *Win) allocate(ctx context.Context, cards []card) error {
	near := w.near()
	p := planOf(cards, near, w.flavor == Shared && !w.hints.noncontig)
	err := w.share(ctx, p, near)
	if err != nil && (w.flavor == Shared || isContext(err) || errclass.Of(err) == errclass.ProcFailed) {
		return err
	}
	if err != nil || w.region == nil {
		w.mem = make([]byte, cards[w.me].bytes)
		return nil
	}
	for i, rank := range near {
		w.peers[rank].mem = w.region.Bytes()[p.starts[i]:p.ends[i]:p.ends[i]]
	}
	w.mem = w.peers[w.me].mem
	if len(near) == len(w.peers) {
		w.locks = share.NewLocks(w.region.Bytes(), len(w.peers), w.me)
	}
	return nil
}

// near returns the ranks that may share memory with this process, itself included.
func (w *Win) near() (near []int) {
	host := w.peers[w.me].proc.Card().Host
	for rank := range w.peers {
		if rank == w.me || host != "" && w.peers[rank].proc.Card().Host == host {
			near = append(near, rank)
		}
	}
	return near
}

// A plan says where in a region the parts of some ranks lie.
type plan struct {
	bytes        int
	starts, ends []int
}

// planBytesMax is more than any region may have, and no sum with it overflows.
const planBytesMax = 1 << 50

// partAlign is the alignment of the parts, unless they must be contiguous.
const partAlign = 64

func planOf(cards []card, near []int, contiguous bool) plan {
	at := partAlign // a region that not all processes map has no locks
	if len(near) == len(cards) {
		at = roundUp(share.LockBytes(len(cards)))
	}
	p := plan{}
	for _, rank := range near {
		p.starts = append(p.starts, at)
		at = min(at+int(cards[rank].bytes), planBytesMax)
		p.ends = append(p.ends, at)
		if !contiguous {
			at = roundUp(at)
		}
	}
	p.bytes = roundUp(at)
	return p
}

func roundUp(n int) int { return (n + partAlign - 1) &^ (partAlign - 1) }

// share maps the region of this process's host. All processes of the window take part, and either
// all have their region afterwards or none has.
func (w *Win) share(ctx context.Context, p plan, near []int) error {
	var mine, n share.Name
	var err error
	leader := near[0] == w.me
	if leader {
		w.region, mine, err = share.Create(p.bytes)
	}
	words := []uint64{uint64(errclass.Of(err)), uint64(mine.PID), uint64(mine.FD),
		binary.LittleEndian.Uint64(mine.Nonce[:]), binary.LittleEndian.Uint64(mine.Nonce[8:])}
	all := make([]uint64, w.comm.Size()*nameWords)
	if gerr := w.comm.Allgather(ctx, mpi.Slice(words), mpi.Slice(all)); gerr != nil {
		return gerr
	}
	if !leader {
		theirs := all[near[0]*nameWords:]
		n.PID, n.FD = int(theirs[1]), int(theirs[2])
		binary.LittleEndian.PutUint64(n.Nonce[:], theirs[3])
		binary.LittleEndian.PutUint64(n.Nonce[8:], theirs[4])
		if err = errclass.Class(theirs[0]); errclass.Of(err) == errclass.Success {
			w.region, err = share.Open(n, p.bytes)
		}
	}
	// AllocateShared needs the memory of all.
	if err == nil && w.flavor == Shared && len(near) < len(w.peers) {
		err = errclass.New(errclass.RMAShared, "not all processes of the communicator are on one host: take one of SplitType")
	}
	status := make([]uint64, w.comm.Size())
	gerr := w.comm.Allgather(ctx, mpi.Slice([]uint64{uint64(errclass.Of(err))}), mpi.Slice(status))
	if leader && w.region != nil {
		w.region.Hide()
	}
	if gerr == nil && err == nil {
		for rank, s := range status {
			if s != 0 {
				err = errclass.New(errclass.RMAShared, "rank %d cannot share memory with the others of its host: %v", rank, errclass.Class(s))
				break
			}
		}
	}
	if gerr != nil {
		err = gerr
	}
	if err != nil && w.region != nil {
		w.region.Close()
		w.region = nil
	}
	return err
}
