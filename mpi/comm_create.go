package mpi

import (
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/mpi/attr"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/core"
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
	c, err := p.openAlone(ids, local, remote, parent)
	if berr := v.ended(barrier(v)); err == nil {
		err = berr
	}
	if err != nil && c != nil {
		_ = c.free()
		c = nil
	}
	return c, err
}

// openAlone is open without waiting for the other processes.
func (p *Process) openAlone(ids []core.ContextID, local, remote *Group, parent *Comm) (*Comm, error) {
	c, err := p.openBoth(ids, local, remote, parent)
	if c == nil {
		for _, id := range ids {
			p.taken.release(id)
		}
	}
	return c, err
}

func (p *Process) openBoth(ids []core.ContextID, local, remote *Group, parent *Comm) (*Comm, error) {
	if local == nil {
		return nil, nil
	}
	c, err := p.openComm(ids[0], local, remote, parent)
	if err != nil || remote == nil {
		return c, err
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
// functions give it. All processes of c must call it.
func (c *Comm) Dup() (dup *Comm, err error) {
	defer c.call("MPI_Comm_dup", &err)()
	err = c.run(c.duplicate(&dup, nil))
	return dup, err
}

// DupWithInfo is Dup with other info (MPI_Comm_dup_with_info; MPI-4.1, 7.4.2).
func (c *Comm) DupWithInfo(hints *Info) (dup *Comm, err error) {
	defer c.call("MPI_Comm_dup_with_info", &err)()
	err = c.run(c.duplicate(&dup, &hints))
	return dup, err
}

// Idup is the non-blocking Dup: *dup is set when the request completes, not before. Info and
// attributes are copied at once (MPI_Comm_idup; MPI-4.1, 7.4.2).
func (c *Comm) Idup(dup **Comm) (r Request, err error) {
	defer c.call("MPI_Comm_idup", &err)()
	if dup == nil {
		return Request{}, errNoDup
	}
	return c.begin(c.duplicate(dup, nil))
}

// IdupWithInfo is Idup with other info (MPI_Comm_idup_with_info; MPI-4.1, 7.4.2).
func (c *Comm) IdupWithInfo(dup **Comm, hints *Info) (r Request, err error) {
	defer c.call("MPI_Comm_idup_with_info", &err)()
	if dup == nil {
		return Request{}, errNoDup
	}
	return c.begin(c.duplicate(dup, &hints))
}

var errNoDup = errclass.New(errclass.Arg, "nowhere to put the new communicator: give the address of a *Comm")

// duplicate returns the program of Dup. hints points to the info of the new communicator; if hints
// is nil, it gets that of c. Info and attributes are copied here, so later changes are not in the
// duplicate of an Idup.
func (c *Comm) duplicate(dup **Comm, hints **Info) (program, error) {
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	given := c.parts.info.Load() // never modified
	if hints != nil {
		given, _ = (*hints).Dup() // fails only for a nil Info, which needs no copy
	}
	var attrs attr.List[*Comm]
	failed := c.parts.attrs.CopyTo(c, &attrs, c)
	return func(v *view) error {
		made, err := c.remake(v)
		switch {
		case err != nil:
			attrs.Drop(c)
			return err
		case failed != nil: // the other processes have made it
			_ = made.free()
			return failed
		}
		made.parts.topology = c.parts.topology
		made.keepInfo(given)
		attrs.MoveTo(&made.parts.attrs)
		*dup = made
		return nil
	}, nil
}

// remake makes a communicator of the processes of c.
func (c *Comm) remake(v *view) (*Comm, error) {
	ids, err := c.contexts(v, contextsOf(c.IsInter()))
	if err != nil {
		return nil, err
	}
	return c.p.open(v, ids, c.group, c.remote, c)
}

// Create makes a communicator of a group of processes of c; the other processes get nil
// (MPI_Comm_create; MPI-4.1, 7.4.2). All processes of c must call it, and those in one group with
// the same group. On an inter-communicator, g is a subset of the local group, and the result is an
// inter-communicator too.
func (c *Comm) Create(g *Group) (made *Comm, err error) {
	defer c.call("MPI_Comm_create", &err)()
	err = c.run(c.create(&made, g))
	return made, err
}

func (c *Comm) create(made **Comm, g *Group) (program, error) {
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	if _, err := c.ranksOf(g); err != nil {
		return nil, err
	}
	return func(v *view) error {
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
	}, nil
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
func (c *Comm) CreateGroup(g *Group, tag int) (made *Comm, err error) {
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
	ids, err := c.contexts(v, 1)
	if err != nil {
		return nil, err
	}
	return c.p.open(v, ids, g, nil, c)
}

// checkUserTag returns an error unless tag is valid for an operation that makes a communicator.
func checkUserTag(tag int) error {
	if tag < 0 || tag > userTagMax {
		return errclass.New(errclass.Tag, "tag %d is not in 0 to %d, the tags of operations that make communicators", tag, userTagMax)
	}
	return nil
}
