package pvfs

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// blocksMin is from how many ranges on a pattern is a request of its own. Fewer share a request
// that lists them, which takes an entry for each.
const blocksMin = 64

// regionsMax is how many ranges one list has.
const regionsMax = 1 << 14

// Read implements storage.File.
func (f *File) Read(ctx context.Context, l ranges.List, mem []byte, _ storage.Options) (n int64, err error) {
	err = each(l, func(p piece) (bool, error) {
		part := mem[n : n+p.bytes]
		var got int
		var err error
		switch {
		case p.regions != nil:
			got, err = f.f.ReadRegions(ctx, part, p.regions)
		case p.run.Count > 1:
			got, err = f.f.ReadBlocks(ctx, part, blocks(p.run))
		default:
			got, err = f.f.ReadAtCtx(ctx, part, p.run.Off)
		}
		n += int64(got)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return err == nil, err
	})
	return n, f.fail(err, "read")
}

// Write implements storage.File.
func (f *File) Write(ctx context.Context, l ranges.List, mem []byte, _ storage.Options) error {
	err := each(l, func(p piece) (bool, error) {
		part := mem[:p.bytes]
		mem = mem[p.bytes:]
		var err error
		switch {
		case p.regions != nil:
			_, err = f.f.WriteRegions(ctx, part, p.regions)
		case p.run.Count > 1:
			_, err = f.f.WriteBlocks(ctx, part, blocks(p.run))
		default:
			_, err = f.f.WriteAtCtx(ctx, part, p.run.Off)
		}
		return err == nil, err
	})
	return f.fail(err, "write")
}

// A piece of a list is what one request of the client has: regions, or else a run.
type piece struct {
	regions []client.Region
	run     ranges.Run
	bytes   int64
}

// each calls do for the pieces of a list in order, until it returns false.
func each(l ranges.List, do func(p piece) (bool, error)) error {
	var waiting []client.Region
	bytes := int64(0)
	flush := func() (bool, error) {
		if len(waiting) == 0 {
			return true, nil
		}
		p := piece{regions: waiting, bytes: bytes}
		if len(waiting) == 1 {
			p = piece{run: ranges.One(waiting[0].Off, waiting[0].Len), bytes: bytes}
		}
		waiting, bytes = nil, 0
		return do(p)
	}
	for _, r := range l {
		if r.Count >= blocksMin && r.Len <= math.MaxInt32 && r.Count <= math.MaxInt32 {
			if more, err := flush(); !more {
				return err
			}
			if more, err := do(piece{run: r, bytes: r.Bytes()}); !more {
				return err
			}
			continue
		}
		for i := range r.Count {
			if len(waiting) == regionsMax {
				if more, err := flush(); !more {
					return err
				}
			}
			waiting = append(waiting, client.Region{Off: r.Off + i*r.Stride, Len: r.Len})
			bytes += r.Len
		}
	}
	_, err := flush()
	return err
}

func blocks(r ranges.Run) client.Blocks {
	return client.Blocks{Off: r.Off, Len: r.Len, Stride: r.Stride, Count: int(r.Count)}
}
