package exchange

import (
	"context"
	"math"

	"github.com/viaduct-hpc/viaduct/mpi/internal/team"
)

// A direction is which way the bytes of an operation go, seen from a client.
type direction bool

const (
	sending   direction = true
	receiving direction = false
)

// client sends the lists of this rank's ranges to the aggregators, and sends or receives the bytes.
// Bytes that do not lie together in memory go through staging of about Options.BufferBytes.
func (o *Op) client(ctx context.Context, d direction) error {
	me := o.Team.Rank()
	hull := o.Plan.Hulls[me]
	n := len(o.Plan.Aggregators)
	for round := range o.Plan.Rounds {
		var b batch
		var near []nearPart
		for i := range n {
			// Ranks begin with different aggregators.
			aggregator := (me*n/o.Team.Size() + i) % n
			w := o.Plan.Window(aggregator, round)
			if !hull.Meets(w) {
				continue
			}
			to := o.Plan.Aggregators[aggregator]
			from, end := o.within(w.Low), o.within(w.High)
			list, _ := o.View.Ranges(o.Start+from, end-from, math.MaxInt)
			b.pending = append(b.pending, sendList(o.Team, list, to)...)
			if from == end {
				continue
			}
			if buf := o.shared(to); buf != nil {
				near = append(near, nearPart{to, buf, w.Low, from, end, list})
				continue // copied after all lists of the round have been sent
			}
			mem, direct := o.Mem.Piece(from, end)
			if !direct {
				if b.staged > 0 && b.staged+end-from > o.Options.BufferBytes {
					if err := b.wait(ctx, o, d); err != nil {
						return err
					}
				}
				mem = b.stage(o, from, end)
				if d == sending {
					o.Mem.Pack(mem, from)
				}
			}
			if d == sending {
				b.pending = append(b.pending, o.Team.Isend(mem, to, team.TagData))
			} else {
				b.pending = append(b.pending, o.Team.Irecv(mem, to, team.TagData))
			}
		}
		var err error
		for i := range near {
			if err = o.copy(ctx, &near[i], d); err != nil {
				break // the team is broken
			}
		}
		if berr := b.wait(ctx, o, d); err == nil {
			err = berr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// within returns how many of the operation's bytes lie below an offset of the file.
func (o *Op) within(off int64) int64 {
	return max(0, min(o.View.Below(off)-o.Start, o.Mem.Size()))
}

// A batch is messages under way.
type batch struct {
	pending []team.Pending
	staging []staging
	staged  int64
}

// A staging holds bytes of the memory from offset from on.
type staging struct {
	from int64
	mem  []byte
}

func (b *batch) stage(o *Op, from, end int64) []byte {
	mem := o.take(end - from)
	b.staging = append(b.staging, staging{from, mem})
	b.staged += end - from
	return mem
}

// wait waits for all messages of the batch, and empties it.
func (b *batch) wait(ctx context.Context, o *Op, d direction) error {
	err := waitAll(ctx, b.pending)
	for _, s := range b.staging {
		if err == nil && d == receiving {
			o.Mem.Unpack(s.from, s.mem)
		}
		o.give(s.mem)
	}
	*b = batch{}
	return err
}
