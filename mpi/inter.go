package mpi

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/group"
)

// IntercommCreate joins two disjoint groups to an inter-communicator (MPI_Intercomm_create;
// MPI-4.1, 7.6.2). All processes of both groups call it, with their group's communicator c and the
// rank of their leader in it. Each leader passes the other leader's rank in bridge, which matters
// only at the leaders. Both pass the same tag, 0 to 2^26-1 here; with different tags several
// goroutines can do so at once.
func (c *Comm) IntercommCreate(ctx context.Context, leader int, bridge *Comm, remoteLeader, tag int) (made *Comm, err error) {
	defer c.call("MPI_Intercomm_create", &err)()
	if err := c.checkJoin(leader); err != nil {
		return nil, err
	}
	if err := checkUserTag(tag); err != nil {
		return nil, err
	}
	if c.rank != leader {
		err = c.bounded(ctx, func() (err error) {
			made, err = c.join(background, leader, nil)
			return err
		})
		return made.unless(err)
	}
	b, err := bridgeOver(bridge, remoteLeader, tag)
	if err != nil {
		made, err = c.join(background, leader, failedBridge{err}) // it informs the others of the group
		return made, err
	}
	err = bridge.bounded(ctx, func() error {
		return c.bounded(ctx, func() (err error) {
			made, err = c.join(background, leader, b)
			return err
		})
	})
	return made.unless(err)
}

// checkJoin checks the local communicator of an inter-communicator to be made, and the rank of its
// leader.
func (c *Comm) checkJoin(leader int) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	if c.IsInter() {
		return errclass.New(errclass.Comm, "the local communicator has two groups: give one with one")
	}
	return c.checkRoot(leader)
}

// A bridge connects two leaders before their groups have a communicator.
type bridge interface {
	// swap sends out to the other leader, and returns the bytes that the other sent, at most limit.
	swap(out []byte, limit int) ([]byte, error)
}

// A failedBridge is a bridge that could not be built.
type failedBridge struct{ err error }

func (b failedBridge) swap([]byte, int) ([]byte, error) { return nil, b.err }

// A commBridge is a bridge over a communicator that contains both leaders.
type commBridge struct {
	v  *view
	to int
}

func bridgeOver(c *Comm, to, tag int) (bridge, error) {
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	if to < 0 || to >= c.peers {
		return nil, c.badRank(to)
	}
	v := c.newView(nil)
	v.tag = tagIntercomm | tag
	return commBridge{v: v, to: to}, nil
}

func (b commBridge) swap(out []byte, limit int) ([]byte, error) {
	var mine, theirs [8]byte
	binary.LittleEndian.PutUint64(mine[:], uint64(len(out)))
	if err := b.v.ended(b.v.Exchange(b.to, mine[:], b.to, theirs[:])); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(theirs[:])
	if n > uint64(limit) {
		// The other side sends in any case. It also ends with an error, when it finds that this
		// side does not go on.
		return nil, tooMuch(n, limit)
	}
	in := make([]byte, n)
	return in, b.v.ended(b.v.Exchange(b.to, out, b.to, in))
}

func tooMuch(n uint64, limit int) error {
	return errclass.New(errclass.Other, "the other leader wants to send %d bytes where at most %d make sense: do both call the same operation?", n, limit)
}

// join makes an inter-communicator of the group of c and the group at the other end of the leader's
// bridge. b is nil in all processes but the leader. If ctx ends before all processes of both groups
// have the communicator, this process gets ctx's error, and others may get a communicator that is
// revoked.
func (c *Comm) join(ctx context.Context, leader int, b bridge) (*Comm, error) {
	v := c.take(c.number())
	made, err := c.joinOver(ctx, v, leader, b)
	return made, c.put(v, err)
}

func (c *Comm) joinOver(ctx context.Context, v *view, leader int, b bridge) (*Comm, error) {
	key := agreementKey{parent: c.ctx, tag: v.tag, leader: c.p.engine.Self().Card().ID}
	key, remote, err := c.meet(v, leader, b, key)
	if err != nil {
		return nil, err
	}
	ids, err := c.p.taken.agree(key, 2, func(mask []byte) error { return v.andOver(b, leader, mask) })
	if err != nil {
		return nil, err
	}
	made, err := c.p.openAlone(new(Comm), ids, c.group, remote, c)
	if err != nil {
		return nil, err
	}
	// As in open, but the two groups have no common communicator yet. The barrier also tells
	// whether their processes reach each other. A communicator that is revoked during the barrier
	// has been made all the same.
	stop := context.AfterFunc(ctx, made.revoke) // ends the barrier
	err = made.run(background, program{do: barrier})
	switch {
	case !stop():
		err = ctx.Err()
	case errors.Is(err, errclass.Revoked):
		err = nil
	}
	if err != nil {
		_ = made.free()
		return nil, err
	}
	return made, nil
}

// meet tells each group which processes are in the other. It returns the key of the agreement on
// contexts: the lower of the two that the leaders propose.
func (c *Comm) meet(v *view, leader int, b bridge, key agreementKey) (agreementKey, *Group, error) {
	var told []byte
	var err error
	if c.rank == leader {
		if told, err = appendMeeting(nil, key, c.group); err == nil {
			told, err = b.swap(told, meetingBytesMax)
		}
		if err == nil {
			_, _, err = c.readMeeting(told)
		}
		if err != nil {
			told = nil
		} else {
			told = appendKey(told, key) // this group needs its own leader's key as well
		}
	}
	told, berr := v.bcastAll(leader, told)
	switch {
	case err != nil:
		return key, nil, err
	case berr != nil:
		return key, nil, berr
	case len(told) < keyBytes:
		return key, nil, errclass.New(errclass.Other, "rank %d, which leads the group, could not meet the other group", leader)
	}
	own := parseKey(told[len(told)-keyBytes:])
	theirs, remote, err := c.readMeeting(told[:len(told)-keyBytes])
	if err != nil {
		return key, nil, err
	}
	if own.compare(theirs) < 0 {
		return own, remote, nil
	}
	return theirs, remote, nil
}

// bcastAll broadcasts bytes whose length only the root knows.
func (v *view) bcastAll(root int, b []byte) ([]byte, error) {
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(len(b)))
	if err := v.ended(coll.Bcast(v, size[:], root, &v.scratch, coll.Auto)); err != nil {
		return nil, err
	}
	if v.rank != root {
		n := binary.LittleEndian.Uint64(size[:])
		if n > meetingBytesMax+keyBytes {
			return nil, tooMuch(n, meetingBytesMax)
		}
		b = make([]byte, n)
	}
	return b, v.ended(coll.Bcast(v, b, root, &v.scratch, coll.Auto))
}

// andOver is an allreduce with bitwise AND over the group of the view and the group at the other
// end of the leader's bridge. If the leader cannot go on, it tells its group so.
func (v *view) andOver(b bridge, leader int, mask []byte) error {
	err := v.ended(coll.Allreduce(v, nil, mask, datatype.Uint64, len(mask)/8, BAnd, &v.scratch, coll.Auto))
	if err != nil {
		return err
	}
	var failed [1]byte
	if v.rank == leader {
		var theirs []byte
		if theirs, err = b.swap(mask, len(mask)); err == nil && len(theirs) != len(mask) {
			err = tooMuch(uint64(len(theirs)), len(mask))
		}
		for i := range theirs {
			mask[i] &= theirs[i]
		}
		if err != nil {
			failed[0] = 1
		}
	}
	if berr := v.ended(coll.Bcast(v, failed[:], leader, &v.scratch, coll.Auto)); berr != nil {
		return berr
	}
	switch {
	case err != nil:
		return err
	case failed[0] != 0:
		return errclass.New(errclass.Other, "rank %d, which leads the group, lost the other group", leader)
	}
	return v.ended(coll.Bcast(v, mask, leader, &v.scratch, coll.Auto))
}

// Merge makes an intra-communicator of the two groups of an inter-communicator
// (MPI_Intercomm_merge; MPI-4.1, 7.6.2). The group that passes high = false comes first. All
// processes of a group must pass the same value. If both groups pass the same, the order is
// arbitrary but the same in all processes.
func (c *Comm) Merge(ctx context.Context, high bool) (merged *Comm, err error) {
	defer c.call("MPI_Intercomm_merge", &err)()
	err = c.making(ctx, c.merge(&merged, high), &merged)
	return merged, err
}

func (c *Comm) merge(merged **Comm, high bool) program {
	if err := c.checkLive(); err != nil {
		return failed(err)
	}
	if !c.IsInter() {
		return failed(errclass.New(errclass.Comm, "the communicator has one group only: there is nothing to merge"))
	}
	return program{do: func(v *view) error {
		mine, theirs := []byte{0}, make([]byte, c.peers)
		if high {
			mine[0] = 1
		}
		if err := v.ended(coll.InterAllgather(v, mine, theirs, &v.scratch, coll.Auto)); err != nil {
			return err
		}
		ids, err := c.contexts(v, 1)
		if err != nil {
			return err
		}
		first, second := c.group, c.remote
		if mine[0] > theirs[0] || mine[0] == theirs[0] && later(first, second) {
			first, second = second, first
		}
		all, err := group.Union(first, second)
		if err != nil {
			return err
		}
		*merged, err = c.p.open(v, ids, all, nil, c)
		return err
	}}
}

// later tells whether a comes after b in an order that is the same in all processes.
func later(a, b *Group) bool {
	first := func(g *Group) core.ProcID {
		p, _ := g.At(0) // a group of a communicator is never empty
		return p.Card().ID
	}
	x, y := first(a), first(b)
	return slices.Compare(x[:], y[:]) > 0
}
