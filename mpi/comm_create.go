package mpi

import (
	"context"
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/attr"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/group"
)

// contexts agrees on n contexts with all processes of the communicator, as part of the collective
// operation of v.
func (c *Comm) contexts(v *view, n int) ([]core.ContextID, error) {
	if v.size == 1 && v.local == nil {
		if ids := c.p.taken.alone(n); ids != nil {
			return ids, nil
		}
	}
	return c.p.taken.agree(agreementKey{parent: c.ctx, tag: v.tag}, n, v.and)
}

// and is an allreduce of a mask with bitwise AND, over both groups of an inter-communicator.
func (v *view) and(mask []byte) error {
	n := len(mask) / 8
	if v.local == nil {
		return v.ended(coll.Allreduce(v, nil, mask, datatype.Uint64, n, BAnd, &v.scratch, coll.Auto))
	}
	if err := v.ended(coll.Allreduce(v.local, nil, mask, datatype.Uint64, n, BAnd, &v.scratch, coll.Auto)); err != nil {
		return err
	}
	theirs := make([]byte, len(mask))
	if err := v.ended(coll.InterAllreduce(v, mask, theirs, datatype.Uint64, n, BAnd, &v.scratch, coll.Auto)); err != nil {
		return err
	}
	for i, b := range theirs {
		mask[i] &= b
	}
	return nil
}

// contextsOf returns how many contexts a communicator needs. An inter-communicator needs one more
// for its local group.
func contextsOf(inter bool) int {
	if inter {
		return 2
	}
	return 1
}

// open makes a communicator of contexts that were agreed on, and releases them if it fails. In a
// process that is not in the communicator, local is nil and open returns nil. It returns when all
// processes of the view have the communicator: if one could revoke it before another has it, the
// other would never learn. The processes wait for each other in the parent, so if one of them has
// failed, revoking the parent ends the wait. Until then no process can revoke the new communicator.
func (p *Process) open(v *view, ids []core.ContextID, local, remote *Group, parent *Comm) (*Comm, error) {
	return p.openTogether(new(Comm), v, ids, local, remote, parent)
}

// openTogether is open for a Comm that the caller has made.
func (p *Process) openTogether(made *Comm, v *view, ids []core.ContextID, local, remote *Group, parent *Comm) (*Comm, error) {
	c, err := p.openAlone(made, ids, local, remote, parent)
	if berr := v.ended(barrier(v)); err == nil {
		err = berr
	}
	if err != nil && c != nil {
		_ = c.free()
		c = nil
	}
	return c, err
}

// openAlone is openTogether without waiting for the other processes.
func (p *Process) openAlone(made *Comm, ids []core.ContextID, local, remote *Group, parent *Comm) (*Comm, error) {
	c, err := p.openBoth(made, ids, local, remote, parent)
	if c == nil {
		for _, id := range ids {
			p.taken.release(id)
		}
	}
	return c, err
}

func (p *Process) openBoth(c *Comm, ids []core.ContextID, local, remote *Group, parent *Comm) (*Comm, error) {
	if local == nil {
		return nil, nil
	}
	err := p.openInto(c, ids[0], local, remote, parent)
	switch {
	case err != nil:
		return nil, err
	case remote == nil:
		return c, nil
	}
	if c.parts.local, err = p.openComm(ids[1], local, nil, nil); err != nil {
		_, _ = c.p2p.Close(), c.coll.Close() // nothing was posted
		return nil, err
	}
	c.coll.EndWith(c.parts.local.p2p, c.parts.local.coll)
	return c, nil
}

// Dup makes a communicator of the same processes with contexts of its own (MPI_Comm_dup; MPI-4.1,
// 7.4.2). The duplicate has the info and the topology of c, and the attributes that their copy
// functions give it; SetInfo gives it other info (MPI_Comm_dup_with_info). All processes of c must
// call it.
func (c *Comm) Dup(ctx context.Context) (dup *Comm, err error) {
	defer c.call("MPI_Comm_dup", &err)()
	dup = new(Comm)
	dup.state.Store(commNotMade)
	err = c.making(ctx, c.duplicate(dup), &dup)
	return dup, err
}

// Idup is the non-blocking Dup. The duplicate can be used once the request has ended. Info and
// attributes are copied at once (MPI_Comm_idup, MPI_Comm_idup_with_info; MPI-4.1, 7.4.2).
func (c *Comm) Idup() (*Comm, Request) {
	var made *Comm
	if c != nil {
		made = &Comm{p: c.p}
		made.state.Store(commNotMade)
	}
	return made, c.later(&idupNames, Undefined, &InPlace, c.duplicate(made), nil)
}

var idupNames = collective{nonblocking: "MPI_Comm_idup"}

// duplicate returns the program of Dup, which makes the communicator dup. Info and attributes are
// copied here, so later changes are not in the duplicate of an Idup.
func (c *Comm) duplicate(dup *Comm) program {
	if err := c.checkLive(); err != nil {
		return failed(err)
	}
	given := c.parts.info.Load() // never modified
	var attrs attr.List[*Comm]
	refused := c.parts.attrs.CopyTo(c, &attrs, c)
	return program{do: func(v *view) error {
		err := c.remake(v, dup)
		switch {
		case err != nil:
			attrs.Drop(c)
			return err
		case refused != nil: // the other processes have made it
			_ = dup.free()
			return refused
		}
		dup.parts.topology = c.parts.topology
		dup.keepInfo(given)
		attrs.MoveTo(&dup.parts.attrs)
		dup.state.Store(commLive)
		return nil
	}}
}

// remake makes a communicator of the processes of c.
func (c *Comm) remake(v *view, made *Comm) error {
	ids, err := c.contexts(v, contextsOf(c.IsInter()))
	if err != nil {
		return err
	}
	_, err = c.p.openTogether(made, v, ids, c.group, c.remote, c)
	return err
}

// Create makes a communicator of a group of processes of c; the other processes get nil
// (MPI_Comm_create; MPI-4.1, 7.4.2). All processes of c must call it, and those in one group with
// the same group. On an inter-communicator, g is a subset of the local group, and the result is an
// inter-communicator too.
func (c *Comm) Create(ctx context.Context, g *Group) (made *Comm, err error) {
	defer c.call("MPI_Comm_create", &err)()
	err = c.making(ctx, c.create(&made, g), &made)
	return made, err
}

func (c *Comm) create(made **Comm, g *Group) program {
	if err := c.checkLive(); err != nil {
		return failed(err)
	}
	if _, err := c.ranksOf(g); err != nil {
		return failed(err)
	}
	return program{do: func(v *view) error {
		remote, err := c.othersIn(v, g)
		if err != nil {
			return err
		}
		ids, err := c.contexts(v, contextsOf(c.IsInter()))
		if err != nil {
			return err
		}
		local := g
		if !g.Contains(c.p.engine.Self()) || c.IsInter() && remote.Size() == 0 {
			local = nil
		}
		*made, err = c.p.open(v, ids, local, remote, c)
		return err
	}}
}

// ranksOf returns the ranks in c of a group's processes.
func (c *Comm) ranksOf(g *Group) ([]int, error) {
	if g == nil {
		return nil, errclass.New(errclass.Group, "the group is nil: take an empty one for no processes")
	}
	ranks := make([]int, g.Size())
	for i, p := range g.All() {
		if ranks[i] = c.group.Rank(p); ranks[i] == group.Undefined {
			return nil, errclass.New(errclass.Group, "the process with rank %d of the group is not in the communicator", i)
		}
	}
	return ranks, nil
}

// othersIn returns the remote group of the inter-communicator that Create makes: each process of
// the other side tells its rank in its new group, or -1. It returns nil if c is not an
// inter-communicator.
func (c *Comm) othersIn(v *view, g *Group) (*Group, error) {
	if !c.IsInter() {
		return nil, nil
	}
	mine := make([]byte, 8)
	binary.LittleEndian.PutUint64(mine, uint64(int64(max(g.Rank(c.p.engine.Self()), -1))))
	all := make([]byte, 8*c.peers)
	if err := v.ended(coll.InterAllgather(v, mine, all, &v.scratch, coll.Auto)); err != nil {
		return nil, err
	}
	var order []place
	for r := range c.peers {
		if at := int64(binary.LittleEndian.Uint64(all[8*r:])); at >= 0 {
			order = append(order, place{key: at, rank: r})
		}
	}
	return c.remote.Incl(inOrder(order))
}

// CreateGroup makes a communicator of a group of processes of c. Only these processes call it, with
// the same group and tag (MPI_Comm_create_group; MPI-4.1, 7.4.2). Several goroutines may make
// communicators of the same processes at once with different tags, which are 0 to 2^26-1 here.
func (c *Comm) CreateGroup(ctx context.Context, g *Group, tag int) (made *Comm, err error) {
	defer c.call("MPI_Comm_create_group", &err)()
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	if c.IsInter() {
		return nil, errclass.New(errclass.Comm, "a group of an inter-communicator cannot make a communicator alone: call Create everywhere")
	}
	if err := checkUserTag(tag); err != nil {
		return nil, err
	}
	ranks, err := c.ranksOf(g)
	if err != nil || !g.Contains(c.p.engine.Self()) {
		return nil, err
	}
	v := c.newView(ranks)
	v.tag = tagCreateGroup | tag
	err = c.bounded(ctx, func() error {
		ids, err := c.contexts(v, 1)
		if err == nil {
			made, err = c.p.open(v, ids, g, nil, c)
		}
		return err
	})
	return made.unless(err)
}

// checkUserTag returns an error unless tag is valid for an operation that makes a communicator.
func checkUserTag(tag int) error {
	if tag < 0 || tag > userTagMax {
		return errclass.New(errclass.Tag, "tag %d is not in 0 to %d, the tags of operations that make communicators", tag, userTagMax)
	}
	return nil
}
