package exchange

import (
	"context"
	"math"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/twophase"
	"github.com/viaduct-hpc/viaduct/mpi/internal/team"
)

// read is the work of aggregator me in a read: it reads what the ranks want of a window, and sends
// it to them. end is where the file ends, if that was found, or else MaxInt64. failed is the first
// error of the file, or an error of communication.
func (o *Op) read(ctx context.Context, me int) (end int64, failed error) {
	end = math.MaxInt64
	var buf []byte
	defer func() { o.give(buf) }()
	shared := o.shared(o.Team.Rank())
	for round := range o.Plan.Rounds {
		w := o.Plan.Window(me, round)
		if w.Empty() {
			continue
		}
		parts, err := o.collect(ctx, w, o.Team.Rank())
		if err != nil {
			return end, err
		}
		all := union(parts)
		low, high := all.Hull()
		at := shared
		if at != nil && len(all) > 0 {
			at = at[low-w.Low : high-w.Low]
		} else {
			buf = o.room(buf, high-low)
			at = buf
		}
		if failed == nil {
			var last int64
			if last, failed = o.fill(ctx, at, low, high, all); failed == nil {
				end = min(end, last)
			}
		}
		if err := o.scatter(ctx, at, low, parts); err != nil {
			return end, err
		}
	}
	return end, failed
}

// fill reads ranges of the file into a buffer that holds it from offset low to high-1. end is where
// the file ends, or MaxInt64 if it has all of the ranges.
func (o *Op) fill(ctx context.Context, buf []byte, low, high int64, all ranges.List) (end int64, err error) {
	want := all.Bytes()
	if want == 0 {
		return math.MaxInt64, nil
	}
	dense := want >= (high-low)/2
	list := all
	if dense {
		// Reading the gaps costs less than leaving them out.
		list, want = ranges.List{ranges.One(low, high-low)}, high-low
	}
	n, err := o.Store.Read(ctx, list, buf[:want], o.Options)
	if err != nil {
		return 0, err
	}
	clear(buf[n:want])
	if !dense {
		twophase.Unpack(buf, low, all)
	}
	if n == want {
		return math.MaxInt64, nil
	}
	return list.At(n), nil
}

// scatter sends each rank its bytes from a buffer that holds the file from offset low on. Bytes of
// several ranges go through staging, of about Options.BufferBytes at a time.
func (o *Op) scatter(ctx context.Context, buf []byte, low int64, parts []part) error {
	var pending []team.Pending
	var staging [][]byte
	bytes := int64(0)
	wait := func() error {
		err := waitAll(ctx, pending)
		for _, b := range staging {
			o.give(b)
		}
		pending, staging, bytes = nil, nil, 0
		return err
	}
	pending = o.offer(parts)
	for _, p := range parts {
		n := p.list.Bytes()
		switch {
		case n == 0, o.isNear(p.rank):
		case len(p.list) == 1 && p.list[0].Count == 1:
			off := p.list[0].Off - low
			pending = append(pending, o.Team.Isend(buf[off:off+n], p.rank, team.TagData))
		default:
			if bytes > 0 && bytes+n > o.Options.BufferBytes {
				if err := wait(); err != nil {
					return err
				}
			}
			b := o.take(n)
			staging = append(staging, b)
			twophase.Gather(b, buf, low, p.list)
			pending = append(pending, o.Team.Isend(b, p.rank, team.TagData))
			bytes += n
		}
	}
	return wait()
}
