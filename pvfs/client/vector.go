package client

import (
	"context"
	"math"
	"os"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Blocks is Count blocks of Len bytes of a file. The first is at Off, and each starts Stride bytes after the start of the one
// before. They do not overlap: Stride ≥ Len.
type Blocks struct {
	Off, Len, Stride int64
	Count            int
}

// Region is a region of a file.
type Region = datatype.Region

// ReadVecAt reads the bytes at off into several buffers, one after another.
func (f *File) ReadVecAt(ctx context.Context, bufs [][]byte, off int64) (int, error) {
	return f.reading(func() (int64, error) { return f.readAt(ctx, memoryOf(bufs...), off) })
}

// WriteVecAt writes several buffers, one after another, at off.
func (f *File) WriteVecAt(ctx context.Context, bufs [][]byte, off int64) (int, error) {
	return f.writing(ctx, func() (int64, error) { return f.writeAt(ctx, memoryOf(bufs...), off) })
}

// ReadBlocks reads blocks into b, one after another. Each server gets one request for all its bytes. b may be shorter than the
// blocks. It returns how many bytes lie before the end of the file, and io.EOF if those are not all.
func (f *File) ReadBlocks(ctx context.Context, b []byte, blocks Blocks) (int, error) {
	return f.reading(func() (int64, error) {
		return blocks.each(memoryOf(b), func(req proto.FileRequest, part memory, off int64) (int64, error) {
			return f.readIn(ctx, req, part, off)
		})
	})
}

// WriteBlocks writes b to blocks, one after another.
func (f *File) WriteBlocks(ctx context.Context, b []byte, blocks Blocks) (int, error) {
	return f.writing(ctx, func() (int64, error) {
		if f.flag&os.O_APPEND != 0 {
			return 0, errAppend
		}
		return blocks.each(memoryOf(b), func(req proto.FileRequest, part memory, off int64) (int64, error) {
			return f.writeOut(ctx, req, part, off)
		})
	})
}

// ReadRegions reads regions into b, one after another. It returns how many bytes come before the first one that is beyond the end
// of the file, and io.EOF if those are not all.
func (f *File) ReadRegions(ctx context.Context, b []byte, regions []Region) (int, error) {
	return f.reading(func() (int64, error) {
		return eachRegion(memoryOf(b), regions, func(req proto.FileRequest, part memory) (int64, error) {
			return f.readIn(ctx, req, part, 0)
		})
	})
}

// WriteRegions writes b to regions, one after another. The order of the writes is defined only where regions overlap.
func (f *File) WriteRegions(ctx context.Context, b []byte, regions []Region) (int, error) {
	return f.writing(ctx, func() (int64, error) {
		if f.flag&os.O_APPEND != 0 {
			return 0, errAppend
		}
		return eachRegion(memoryOf(b), regions, func(req proto.FileRequest, part memory) (int64, error) {
			return f.writeOut(ctx, req, part, 0)
		})
	})
}

// blocksAtOnce is how many blocks one request has, so that a server does not have to walk too many.
const blocksAtOnce = datatype.ChunksMax / 4

// each calls do for the blocks, with one request for many.
func (v Blocks) each(mem memory, do func(req proto.FileRequest, part memory, off int64) (int64, error)) (done int64, err error) {
	if v.Count < 0 || v.Len < 1 || v.Stride < v.Len || v.Len > math.MaxInt32 || v.Off < 0 ||
		v.Count > 1 && v.Stride > (math.MaxInt64-v.Len-v.Off)/int64(v.Count-1) ||
		mem.size > int64(v.Count)*v.Len {
		return 0, proto.EINVAL
	}
	if v.Stride == v.Len {
		return do(proto.ByteStream(), mem, v.Off)
	}
	for left := mem.size; left > 0; left = mem.size - done {
		first := done / v.Len
		count := min(int64(v.Count)-first, blocksAtOnce)
		req, err := datatype.Vector(v.Off+first*v.Stride, int(count), v.Len, v.Stride)
		if err != nil {
			return done, proto.EINVAL
		}
		part := mem.sub(done, min(left, count*v.Len))
		n, err := do(req, part, 0)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
