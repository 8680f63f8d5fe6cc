package datatype

import (
	"iter"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Regions is the file's side of an operation: the regions of the file for the bytes fileOffset to fileOffset+aggregate of the
// tiled request, in the order of the request. Adjacent regions are joined. There are none if CheckIO returns an error.
func Regions(req proto.FileRequest, fileOffset, aggregate int64) iter.Seq[Region] {
	return PacedRegions(req, fileOffset, aggregate, nil)
}

// PaceSteps is the number of steps between two calls of pace. A step takes a few tens of nanoseconds.
const PaceSteps = 1024

// PacedRegions is Regions for untrusted requests. A walk may have many more steps than regions. So it calls pace, which may wait,
// and which ends the walk by returning false.
func PacedRegions(req proto.FileRequest, fileOffset, aggregate int64, pace func() bool) iter.Seq[Region] {
	return func(yield func(Region) bool) {
		if fileOffset < 0 || aggregate <= 0 {
			return
		}
		if IsBytes(req) {
			if aggregate <= maxOffset-fileOffset {
				yield(Region{fileOffset, aggregate})
			}
			return
		}
		c, err := compile(req)
		if err != nil || aggregate > maxOffset-fileOffset || c.checkRange(fileOffset, aggregate) != nil {
			return
		}
		w := walker{types: c, left: aggregate, yield: yield, pace: pace}
		w.tiles(fileOffset)
	}
}

const maxOffset = 1<<63 - 1

// walker emits the regions of an operation. skip is the number of bytes in the subtree before the operation's first one.
type walker struct {
	types compiled
	left  int64 // bytes still to emit
	last  Region
	yield func(Region) bool
	stop  bool
	pace  func() bool // nil: none
	steps int         // since pace was called
}

func (w *walker) tiles(fileOffset int64) {
	n := &w.types[0]
	tile, skip := fileOffset/n.bytes, fileOffset%n.bytes
	if n.dense {
		w.emit(tile*n.extent+n.low+skip, w.left)
	}
	for ; w.left > 0 && !w.stop; tile++ {
		w.instance(0, tile*n.extent, skip)
		skip = 0
	}
	if !w.stop && w.last.Len > 0 {
		w.yield(w.last)
	}
}

// instance walks one instance of the type at offset base.
func (w *walker) instance(i int, base, skip int64) {
	if n := &w.types[i]; n.run {
		w.emit(base+n.low+skip, min(n.bytes-skip, w.left))
		return
	}
	for ; i >= 0 && !w.over(); i = w.types[i].sequence {
		w.step()
		n := &w.types[i]
		if skip >= n.own {
			skip -= n.own
			continue
		}
		w.blocks(n, base+n.offset, skip)
		skip = 0
	}
}

func (w *walker) over() bool { return w.left == 0 || w.stop }

// step counts one node or block, even if it has no bytes to emit.
func (w *walker) step() {
	if w.steps++; w.steps < PaceSteps || w.pace == nil {
		return
	}
	w.steps = 0
	if !w.pace() {
		w.stop = true
	}
}

// blocks walks the blocks of one node until left is 0.
func (w *walker) blocks(n *node, base, skip int64) {
	e := &w.types[n.element]
	block := n.elements * e.bytes
	for b := skip / block; b < n.blocks && !w.over(); b++ {
		skip %= block
		at := base + b*n.stride
		if e.dense {
			w.emit(at+e.low+skip, min(block-skip, w.left))
			skip = 0
			continue
		}
		for k := skip / e.bytes; k < n.elements && !w.over(); k++ {
			w.instance(n.element, at+k*e.extent, skip%e.bytes)
			skip = 0
		}
	}
}

// emit emits n bytes at off, joined with the previous region if they are adjacent.
func (w *walker) emit(off, n int64) {
	w.step()
	w.left -= n
	if w.last.Len > 0 && w.last.Off+w.last.Len == off {
		w.last.Len += n
		return
	}
	if w.last.Len > 0 && !w.yield(w.last) {
		w.stop = true
		return
	}
	w.last = Region{off, n}
}
