package datatype

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// ErrRequest is wrapped by every error of this package.
var ErrRequest = errors.New("datatype: bad file request")

// Limits of a request.
const (
	nodesMax  = proto.MaxNested + 1
	ChunksMax = 1 << 24 // contiguous regions of one operation
)

// node is one node of a request, with derived values.
type node struct {
	offset, stride int64
	elements       int64 // of the element type, in one block
	blocks         int64
	extent         int64 // from one instance of the type to the next one
	element        int   // index, or -1
	sequence       int   // index, or -1
	own            int64 // bytes of this node, without its sequence
	bytes          int64 // with its sequence
	low, high      int64 // lowest offset of its bytes, and highest plus one, with the sequence
	chunks         int64 // upper bound of the contiguous regions, with the sequence
	least          int64 // lower bound of the bytes of the smallest region
	dense          bool  // one contiguous region, and instances are adjacent
	run            bool  // one contiguous region
	state          visit
}

type visit uint8

const (
	unseen visit = iota
	open
	done
)

// compiled is a checked request.
type compiled []node

// Check reports whether a request is valid: indices are those of nodes and have no cycles, counts and bounds are those that the
// builders of types produce, and nothing overflows. The error wraps ErrRequest.
func Check(req proto.FileRequest) error {
	_, err := compile(req)
	return err
}

// CheckIO reports whether an operation on a request can be walked. The request passes Check, all bytes are inside a file, and
// there are at most ChunksMax regions.
func CheckIO(req proto.FileRequest, fileOffset, aggregate int64) error {
	if fileOffset < 0 || aggregate < 0 || aggregate > math.MaxInt64-fileOffset {
		return fmt.Errorf("%w: %d bytes from %d", ErrRequest, aggregate, fileOffset)
	}
	if IsBytes(req) || aggregate == 0 {
		return Check(req)
	}
	c, err := compile(req)
	if err != nil {
		return err
	}
	return c.checkRange(fileOffset, aggregate)
}

func (c compiled) checkRange(fileOffset, aggregate int64) error {
	n := &c[0]
	if n.bytes == 0 {
		return fmt.Errorf("%w: %d bytes of a type that has none", ErrRequest, aggregate)
	}
	first, last := fileOffset/n.bytes, (fileOffset+aggregate-1)/n.bytes
	if n.extent <= 0 && last > 0 {
		return fmt.Errorf("%w: a type of extent %d is repeated", ErrRequest, n.extent)
	}
	low, ok := mulAdd(first, n.extent, n.low)
	_, fits := mulAdd(last, n.extent, n.high)
	if !ok || !fits || low < 0 {
		return fmt.Errorf("%w: it leaves the file", ErrRequest)
	}
	if n.dense {
		return nil
	}
	// The first and the last region may be incomplete.
	if saturate(last-first+1, n.chunks) > ChunksMax && aggregate/n.least > ChunksMax-2 {
		return fmt.Errorf("%w: more than %d contiguous regions in one operation", ErrRequest, ChunksMax)
	}
	return nil
}

func compile(req proto.FileRequest) (compiled, error) {
	if len(req) == 0 || len(req) > nodesMax {
		return nil, fmt.Errorf("%w: %d nodes", ErrRequest, len(req))
	}
	if req[0].Committed >= 0 {
		return nil, fmt.Errorf("%w: it is not packed", ErrRequest)
	}
	c := make(compiled, len(req))
	for i := range req {
		r := &req[i]
		if r.NumEreqs < 0 || r.NumBlocks < 0 || !index(r.Element, len(req)) || !index(r.Sequence, len(req)) {
			return nil, fmt.Errorf("%w: node %d has counts or indices that cannot be", ErrRequest, i)
		}
		extent, ok := sub(r.UpperBound, r.LowerBound)
		if !ok || extent < 0 {
			return nil, fmt.Errorf("%w: node %d has bounds %d and %d", ErrRequest, i, r.LowerBound, r.UpperBound)
		}
		c[i] = node{
			offset: r.Offset, stride: r.Stride, elements: int64(r.NumEreqs), blocks: int64(r.NumBlocks),
			extent: extent, element: int(r.Element), sequence: int(r.Sequence),
		}
	}
	if err := c.work(req, 0); err != nil {
		return nil, err
	}
	return c, nil
}

func index(i int32, n int) bool { return i == -1 || i >= 0 && int(i) < n }

// work computes the derived values of node i and all nodes below it.
func (c compiled) work(req proto.FileRequest, i int) error {
	n := &c[i]
	switch n.state {
	case done:
		return nil
	case open:
		return fmt.Errorf("%w: node %d contains itself", ErrRequest, i)
	}
	n.state = open
	for _, j := range []int{n.element, n.sequence} {
		if j >= 0 {
			if err := c.work(req, j); err != nil {
				return err
			}
		}
	}
	ok := true
	if n.element < 0 {
		ok = n.leaf(&req[i])
	} else {
		ok = n.repeat(&c[n.element])
	}
	if ok && n.sequence >= 0 {
		ok = n.join(&c[n.sequence])
	}
	if !ok {
		return fmt.Errorf("%w: node %d has sizes that cannot be", ErrRequest, i)
	}
	if n.bytes != req[i].Aggregate {
		return fmt.Errorf("%w: node %d has %d bytes and says %d", ErrRequest, i, n.bytes, req[i].Aggregate)
	}
	n.run = n.chunks == 1
	n.dense = n.run && n.extent == n.bytes
	n.state = done
	return nil
}

// leaf computes a node without an element type: contiguous bytes.
func (n *node) leaf(r *proto.ReqNode) bool {
	if n.sequence >= 0 || r.Aggregate < 1 || n.extent != r.Aggregate {
		return false
	}
	end, ok := addTo(n.offset, r.Aggregate)
	n.own, n.bytes, n.low, n.high, n.chunks, n.least = r.Aggregate, r.Aggregate, n.offset, end, 1, r.Aggregate
	return ok
}

// repeat computes a node of blocks of elements e, without its sequence.
func (n *node) repeat(e *node) bool {
	if n.elements == 0 || n.blocks == 0 || e.bytes == 0 {
		return true
	}
	block, ok := mulAdd(n.elements, e.bytes, 0)
	own, ok2 := mulAdd(n.blocks, block, 0)
	last, ok3 := mulAdd(n.elements-1, e.extent, e.high) // of a block, without offset
	back, ok4 := mulAdd(n.blocks-1, n.stride, 0)
	low, ok5 := addTo(n.offset, e.low)
	low, ok6 := addTo(low, min(back, 0))
	high, ok7 := addTo(n.offset, last)
	high, ok8 := addTo(high, max(back, 0))
	if !(ok && ok2 && ok3 && ok4 && ok5 && ok6 && ok7 && ok8) {
		return false
	}
	n.own, n.bytes, n.low, n.high = own, own, low, high
	switch {
	case e.dense && (n.blocks == 1 || n.stride == block), e.run && n.elements == 1 && n.blocks == 1:
		n.chunks, n.least = 1, own
	case e.dense:
		n.chunks, n.least = n.blocks, block
	default:
		n.chunks, n.least = saturate(n.blocks, saturate(n.elements, e.chunks)), e.least
	}
	return true
}

// join adds the sequence s to a node.
func (n *node) join(s *node) bool {
	if s.bytes == 0 {
		return true
	}
	if n.bytes == 0 {
		n.bytes, n.low, n.high, n.chunks, n.least = s.bytes, s.low, s.high, s.chunks, s.least
		return true
	}
	ok := true
	n.bytes, ok = addTo(n.bytes, s.bytes)
	if n.chunks != 1 || s.chunks != 1 || n.high != s.low {
		n.chunks = min(n.chunks+s.chunks, chunksTop)
	}
	n.low, n.high, n.least = min(n.low, s.low), max(n.high, s.high), min(n.least, s.least)
	return ok
}

// chunksTop is the highest count of regions.
const chunksTop = 1 << 40

func saturate(a, b int64) int64 {
	if v, ok := mulAdd(a, b, 0); ok {
		return min(v, chunksTop)
	}
	return chunksTop
}

// mulAdd is a*b+c, and whether that is exact. a is not negative.
func mulAdd(a, b, c int64) (int64, bool) {
	abs := uint64(b)
	if b < 0 {
		abs = -abs
	}
	hi, lo := bits.Mul64(uint64(a), abs)
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	v := int64(lo)
	if b < 0 {
		v = -v
	}
	return addTo(v, c)
}

func addTo(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

func sub(a, b int64) (int64, bool) {
	d := a - b
	return d, (d < a) == (b > 0)
}
