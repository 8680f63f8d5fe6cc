package scale

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/collsim"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// wordBytes is the size of the elements of reductions.
const wordBytes = 8

// An operation is what a row shows.
type operation struct {
	name string
	// bytes is the length of the buffers of a rank.
	bytes func(p int) int
	// run does it with memory in and out of that length. The contents do not matter.
	run func(c coll.Comm, in, out []byte, s *coll.Scratch, choose coll.Choice) error
	// linkBytes is what must cross the link of a host in each direction.
	linkBytes func(p int) float64
	// shifted: every host does the same, with shifted ranks.
	shifted bool
	// ranksMax limits the ranks; 0: no limit.
	ranksMax int
}

// operations are those of the section.
var operations = []operation{
	{name: "barrier", bytes: whole(0), run: barrier, linkBytes: once(0)},
	{name: "bcast 8 B", bytes: whole(8), run: bcast, linkBytes: once(8)},
	{name: "bcast 1 MiB", bytes: whole(1 << 20), run: bcast, linkBytes: once(1 << 20)},
	{name: "allreduce 8 B", bytes: whole(8), run: allreduce, linkBytes: there(8)},
	{name: "allreduce 64 KiB", bytes: whole(64 << 10), run: allreduce, linkBytes: there(64 << 10)},
	{name: "alltoall 8 B", bytes: each(8), run: alltoall, linkBytes: fromEach(8), shifted: true},
	{name: "alltoall 4 KiB", bytes: each(4 << 10), run: alltoall, linkBytes: fromEach(4 << 10), shifted: true, ranksMax: 1024},
}

func whole(bytes int) func(int) int { return func(int) int { return bytes } }
func each(bytes int) func(int) int  { return func(p int) int { return p * bytes } }

func once(bytes float64) func(int) float64 { return func(int) float64 { return bytes } }

// there is there and back again.
func there(bytes float64) func(int) float64 {
	return func(p int) float64 { return 2 * bytes * float64(p-1) / float64(p) }
}

func fromEach(bytes float64) func(int) float64 {
	local := float64(network.RanksPerHost)
	return func(p int) float64 { return local * (float64(p) - local) * bytes }
}

func barrier(c coll.Comm, _, _ []byte, _ *coll.Scratch, choose coll.Choice) error {
	return coll.Barrier(c, choose)
}

func bcast(c coll.Comm, _, out []byte, s *coll.Scratch, choose coll.Choice) error {
	return coll.Bcast(c, out, 0, s, choose)
}

// allreduce takes an operator whose result needs no memory of its own, which makes no difference
// to the messages.
func allreduce(c coll.Comm, _, out []byte, s *coll.Scratch, choose coll.Choice) error {
	return coll.Allreduce(c, nil, out, datatype.Uint64, len(out)/wordBytes, reduce.BAnd, s, choose)
}

func alltoall(c coll.Comm, in, out []byte, s *coll.Scratch, choose coll.Choice) error {
	return coll.Alltoall(c, in, out, s, choose)
}

// job returns the operation on p ranks, with the algorithm that is chosen if the hosts are known
// or not.
func (o operation) job(p int, known bool) collsim.Job {
	in, out := make([]byte, o.bytes(p)), make([]byte, o.bytes(p))
	j := collsim.Job{Ranks: p, Hierarchy: known, Run: func(c coll.Comm, s *coll.Scratch) error {
		return o.run(c, in, out, s, coll.Auto)
	}}
	if o.shifted {
		j.Period = network.RanksPerHost
	}
	return j
}
