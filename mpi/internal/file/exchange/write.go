package exchange

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/twophase"
	"github.com/viaduct-hpc/viaduct/mpi/internal/team"
)

// write is the work of aggregator me in a write: it receives the bytes of a window, and writes
// them. It returns the first error of the file, or an error of communication.
func (o *Op) write(ctx context.Context, me int) (failed error) {
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
			return err
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
		if err := o.gather(ctx, at, low, parts); err != nil {
			return err
		}
		if failed == nil && len(all) > 0 {
			failed = o.Store.Write(ctx, all, twophase.Pack(at, low, all), o.Options)
		}
	}
	return failed
}

// union returns the ranges of all ranks.
func union(parts []part) ranges.List {
	lists := make([]ranges.List, len(parts))
	for i, p := range parts {
		lists[i] = p.list
	}
	return ranges.Union(lists)
}

// room returns a buffer of n bytes, the old one if it is large enough.
func (o *Op) room(buf []byte, n int64) []byte {
	if int64(cap(buf)) < n {
		o.give(buf)
		return o.take(n)
	}
	return buf[:n]
}

// gather receives the bytes of all parts into a buffer that holds the file from offset low on. Those
// of one range go there directly, others through staging, of about Options.BufferBytes at a time.
func (o *Op) gather(ctx context.Context, buf []byte, low int64, parts []part) error {
	var direct, staged []team.Pending
	var staging [][]byte
	var lists []ranges.List
	bytes := int64(0)
	scatter := func() error {
		err := waitAll(ctx, staged)
		for i, b := range staging {
			if err == nil {
				twophase.Scatter(buf, low, lists[i], b)
			}
			o.give(b)
		}
		staged, staging, lists, bytes = nil, nil, nil, 0
		return err
	}
	direct = o.offer(parts)
	for _, p := range parts {
		n := p.list.Bytes()
		switch {
		case n == 0, o.isNear(p.rank):
		case len(p.list) == 1 && p.list[0].Count == 1:
			off := p.list[0].Off - low
			direct = append(direct, o.Team.Irecv(buf[off:off+n], p.rank, team.TagData))
		default:
			if bytes > 0 && bytes+n > o.Options.BufferBytes {
				if err := scatter(); err != nil {
					_ = waitAll(ctx, direct) // the team is broken: they end
					return err
				}
			}
			b := o.take(n)
			staged, staging, lists = append(staged, o.Team.Irecv(b, p.rank, team.TagData)), append(staging, b), append(lists, p.list)
			bytes += n
		}
	}
	err := scatter()
	if derr := waitAll(ctx, direct); err == nil {
		err = derr
	}
	return err
}
