package datatype

import (
	"fmt"
	"math"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Region is Len bytes at Off of a file.
type Region struct{ Off, Len int64 }

// RegionsMax is the largest number of regions for Indexed.
const RegionsMax = proto.MaxNested

// Bytes is the request of contiguous bytes.
func Bytes() proto.FileRequest { return proto.ByteStream() }

// Vector is count blocks of blocklen bytes. The first is at offset off, and each starts stride bytes after the start of the one
// before. stride may be negative if no block starts before the file.
func Vector(off int64, count int, blocklen, stride int64) (proto.FileRequest, error) {
	if off < 0 || count < 1 || count > math.MaxInt32 || blocklen < 1 || blocklen > math.MaxInt32 {
		return nil, fmt.Errorf("%w: vector of %d blocks of %d bytes from %d", ErrRequest, count, blocklen, off)
	}
	node := proto.ReqNode{
		Offset: off, NumEreqs: int32(blocklen), NumBlocks: int32(count), Stride: stride,
		Aggregate: int64(count) * blocklen, Chunks: int32(count), Depth: 2, Nested: 1,
		Committed: -1, Element: 1, Sequence: -1,
	}
	last, ok := mulAdd(int64(count)-1, stride, off)
	node.LowerBound = min(off, last)
	top, fits := addTo(max(off, last), blocklen)
	if !ok || !fits || node.LowerBound < 0 {
		return nil, fmt.Errorf("%w: vector of %d blocks from %d with stride %d leaves the file", ErrRequest, count, off, stride)
	}
	node.UpperBound = top
	if stride == blocklen {
		node.Chunks = 1
	}
	return proto.FileRequest{node, byteNode()}, nil
}

// Indexed is the regions one after another, in this order. There may be RegionsMax of them, none empty.
func Indexed(regions []Region) (proto.FileRequest, error) {
	if len(regions) < 1 || len(regions) > RegionsMax {
		return nil, fmt.Errorf("%w: %d regions, not 1 to %d", ErrRequest, len(regions), RegionsMax)
	}
	// Like stock clients: a chain of sequence nodes over one element, whose node comes right after the first.
	req := make(proto.FileRequest, len(regions)+1)
	req[1] = byteNode()
	next, index := proto.ReqNode{}, int32(-1)
	for i := len(regions) - 1; i >= 0; i-- {
		r := regions[i]
		end, ok := addTo(r.Off, r.Len)
		if r.Off < 0 || r.Len < 1 || r.Len > math.MaxInt32 || !ok {
			return nil, fmt.Errorf("%w: region of %d bytes at %d", ErrRequest, r.Len, r.Off)
		}
		node := proto.ReqNode{
			Offset: r.Off, NumEreqs: int32(r.Len), NumBlocks: 1, UpperBound: end, LowerBound: r.Off,
			Aggregate: r.Len, Chunks: 1, Depth: 2, Nested: 1, Element: 1, Sequence: index,
		}
		if index >= 0 {
			node.UpperBound, node.LowerBound = max(end, next.UpperBound), min(r.Off, next.LowerBound)
			node.Aggregate, ok = addTo(next.Aggregate, r.Len)
			node.Chunks, node.Nested = next.Chunks+1, next.Nested+1
			if !ok {
				return nil, fmt.Errorf("%w: regions of more bytes than an offset can count", ErrRequest)
			}
		}
		at := i + 1
		if i == 0 {
			at, node.Committed = 0, -1
		}
		req[at], next, index = node, node, int32(at)
	}
	return req, nil
}

func byteNode() proto.ReqNode {
	n := proto.ByteStream()[0]
	n.Committed = 0
	return n
}

// IsBytes reports whether a request is contiguous bytes.
func IsBytes(req proto.FileRequest) bool {
	if len(req) != 1 {
		return false
	}
	n := &req[0]
	return n.Element == -1 && n.Sequence == -1 && n.Committed < 0 && n.NumEreqs >= 0 && n.NumBlocks >= 0 &&
		n.Offset == 0 && n.Aggregate == 1 && n.LowerBound == 0 && n.UpperBound == 1
}
