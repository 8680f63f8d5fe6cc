package mpi

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A SplitKind is the criterion by which SplitType divides processes (MPI-4.1, 7.4.2).
type SplitKind int

// Kinds of SplitType.
const (
	// SplitShared keeps together processes that can share memory (MPI_COMM_TYPE_SHARED).
	SplitShared SplitKind = iota + 1
	// SplitHardware divides by the hardware resource that the info names
	// (MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_HW_GUIDED). No resource smaller than that of
	// SplitShared is known.
	SplitHardware
)

// Split divides a communicator: processes with the same colour get a communicator together. Their
// ranks in it are in the order of key; equal keys are in the order of the ranks in c
// (MPI_Comm_split; MPI-4.1, 7.4.2). Colours are not negative; a process with Undefined gets nil. On
// an inter-communicator both groups are divided, and a colour without processes on the other side
// gets nil.
func (c *Comm) Split(ctx context.Context, color, key int) (part *Comm, err error) {
	defer c.call("MPI_Comm_split", &err)()
	err = c.making(ctx, c.split(&part, color, key), &part)
	return part, err
}

// SplitType is Split by a property that processes have in common (MPI_Comm_split_type; MPI-4.1,
// 7.4.2). kind is Undefined in a process that is to get nil; all others pass the same kind. Hints
// have no effect.
func (c *Comm) SplitType(ctx context.Context, kind SplitKind, key int, hints *Info) (part *Comm, err error) {
	defer c.call("MPI_Comm_split_type", &err)()
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	color := Undefined
	switch kind {
	case SplitShared:
		color = c.host()
	case SplitHardware, Undefined:
	default:
		return nil, errclass.New(errclass.Arg, "%d is no kind of split: give SplitShared, SplitHardware or Undefined", kind)
	}
	err = c.making(ctx, c.split(&part, color, key), &part)
	return part, err
}

// host returns a number that is the same for all processes that share memory, in both groups of an
// inter-communicator.
func (c *Comm) host() int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.p.engine.Self().Card().Host)) // never fails
	return int(h.Sum64() >> 1)
}

// A place is the rank of a process and its sort key.
type place struct {
	key  int64
	rank int
}

// inOrder returns the ranks sorted by key.
func inOrder(places []place) []int {
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.key, b.key) })
	ranks := make([]int, len(places))
	for i, p := range places {
		ranks[i] = p.rank
	}
	return ranks
}

// splitBytes is the size of the colour and key that each process sends.
const splitBytes = 16

func (c *Comm) split(part **Comm, color, key int) program {
	if err := c.checkLive(); err != nil {
		return failed(err)
	}
	if color < 0 && color != Undefined {
		return failed(errclass.New(errclass.Arg, "the colour is %d: give 0 or more, or Undefined for none", color))
	}
	return program{do: func(v *view) error {
		var mine [splitBytes]byte
		binary.LittleEndian.PutUint64(mine[:], uint64(int64(color)))
		binary.LittleEndian.PutUint64(mine[8:], uint64(int64(key)))
		local, remote, err := c.sameColor(v, mine[:], color)
		if err != nil {
			return err
		}
		ids, err := c.contexts(v, contextsOf(c.IsInter()))
		if err != nil {
			return err
		}
		if color == Undefined || c.IsInter() && remote.Size() == 0 {
			local = nil
		}
		*part, err = c.p.open(v, ids, local, remote, c)
		return err
	}}
}

// sameColor returns the groups of the processes with a colour, in the local and the remote group.
func (c *Comm) sameColor(v *view, mine []byte, color int) (local, remote *Group, err error) {
	all := make([]byte, splitBytes*c.Size())
	var own coll.Comm = v
	if v.local != nil {
		own = v.local
	}
	if err := v.ended(coll.Allgather(own, mine, all, &v.scratch, coll.Auto)); err != nil {
		return nil, nil, err
	}
	if local, err = c.group.Incl(colored(all, color)); err != nil || !c.IsInter() {
		return local, nil, err
	}
	all = make([]byte, splitBytes*c.peers)
	if err := v.ended(coll.InterAllgather(v, mine, all, &v.scratch, coll.Auto)); err != nil {
		return nil, nil, err
	}
	remote, err = c.remote.Incl(colored(all, color))
	return local, remote, err
}

// colored returns the ranks that have a colour in all, sorted by key.
func colored(all []byte, color int) []int {
	var places []place
	for r := range len(all) / splitBytes {
		told := all[splitBytes*r:]
		if int64(binary.LittleEndian.Uint64(told)) == int64(color) {
			places = append(places, place{key: int64(binary.LittleEndian.Uint64(told[8:])), rank: r})
		}
	}
	return inOrder(places)
}
