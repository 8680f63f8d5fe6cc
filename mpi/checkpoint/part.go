package checkpoint

import (
	"iter"

	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/manifest"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/sums"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/memory"
)

// A part is this rank's part of an array: its memory, and where its bytes lie in the array.
type part struct {
	item  *Item
	mem   *memory.Memory
	kind  datatype.Kind
	elem  int64          // bytes of an element; 0 if this rank does not know, because it has none
	where *datatype.Type // selects this rank's bytes of the array
}

// newPart checks the arguments of an array. into says that its memory is written.
func newPart(it *Item, into bool) (*part, error) {
	mem, err := memory.Of(it.b, nil, into)
	if err != nil {
		return nil, errclass.Wrap(errclass.Of(err), err, "the memory of %q", it.name)
	}
	p := &part{item: it, mem: mem}
	if _, _, _, t, _ := it.b.Memory(); t != nil { // memory.Of has checked it
		p.kind = t.Kind()
	}
	if it.filetype != nil {
		err = p.byType()
	} else {
		err = p.byBlock()
	}
	return p, err
}

// byType sets the place of a part that a filetype selects. The extent of the filetype is the array.
func (p *part) byType() error {
	it, t := p.item, p.item.filetype
	p.where = t
	if int64(t.Size()) != p.mem.Size() {
		return errclass.New(errclass.Arg, "the filetype of %q selects %d bytes, and its memory has %d", it.name, t.Size(), p.mem.Size())
	}
	if t.Size() == 0 {
		return nil
	}
	lb, extent := t.Extent()
	low, length := t.TrueExtent()
	n, ok := manifest.Bytes(wide(it.shape), 1)
	if weak, _ := t.Ascending(); !weak || !ok || lb != 0 || n < 1 || int64(extent)%n != 0 || low < 0 || low+length > extent {
		return errclass.New(errclass.Type, "the filetype %v of %q does not select ascending elements of an array of shape %v, with the whole array as its extent: datatype.Subarray and Darray make such types",
			t, it.name, it.shape)
	}
	p.elem = int64(extent) / n
	return nil
}

// byBlock: the elements are a block.
func (p *part) byBlock() error {
	it := p.item
	if len(it.start) != len(it.shape) || len(it.count) != len(it.shape) {
		return errclass.New(errclass.Dims, "%q has %d dimensions, and its block %d starts and %d counts", it.name, len(it.shape), len(it.start), len(it.count))
	}
	for d, size := range it.shape {
		if it.count[d] < 0 || it.start[d] < 0 || it.count[d] > size || it.start[d] > size-it.count[d] {
			return errclass.New(errclass.Arg, "dimension %d of %q: %d elements from %d on are not in an array of %d", d, it.name, it.count[d], it.start[d], size)
		}
	}
	n, ok := manifest.Bytes(wide(it.count), 1)
	switch {
	case !ok:
		return errTooLarge(it)
	case n == 0 && p.mem.Size() == 0:
		p.where = nothing
		return nil
	case n == 0 || p.mem.Size() == 0 || p.mem.Size()%n != 0:
		return errclass.New(errclass.Arg, "the block of %q has %d elements, and its memory %d bytes", it.name, n, p.mem.Size())
	}
	p.elem = p.mem.Size() / n
	elem, err := datatype.Contiguous(int(p.elem), datatype.Byte)
	if err == nil {
		p.where, err = datatype.Subarray(it.shape, it.count, it.start, datatype.OrderC, elem)
	}
	if err != nil {
		return errclass.Wrap(errclass.Of(err), err, "the block of %q", it.name)
	}
	return nil
}

func errTooLarge(it *Item) error {
	return errclass.New(errclass.ValueTooLarge, "%q of shape %v is larger than any file: save less", it.name, it.shape)
}

// wide returns numbers with 64 bits.
func wide(xs []int) []int64 {
	out := make([]int64, len(xs))
	for i, x := range xs {
		out[i] = int64(x)
	}
	return out
}

// ranges yields where the bytes of the part lie in the array, in the order of its memory.
func (p *part) ranges() iter.Seq2[int64, int64] {
	return func(yield func(off, length int64) bool) {
		for r := range p.where.Runs(0, p.where.Size()) {
			for i := range r.Count {
				if !yield(int64(r.Off)+int64(i)*int64(r.Stride), int64(r.Len)) {
					return
				}
			}
		}
	}
}

// mark returns a number for a check across ranks: the numbers of all ranks together show whether the
// parts contain each byte once.
func (p *part) mark() (sum uint64) {
	for off, n := range p.ranges() {
		sum += sums.Mark(off, n)
	}
	return sum
}

// stagingBytes is how much memory is packed at once to compute checksums, if it does not lie together.
const stagingBytes = 256 << 10

// sums returns this part's share of the checksums of the array's blocks.
func (p *part) sums(arrayBytes, block int64) []uint32 {
	all := sums.NewParts(arrayBytes, block)
	at := int64(0) // in the memory
	var staging []byte
	from, end := int64(0), int64(0) // what staging has
	piece, direct := p.mem.Piece(0, p.mem.Size())
	for off, n := range p.ranges() {
		if direct {
			all.Add(off, piece[at:at+n])
			at += n
			continue
		}
		for n > 0 {
			if at == end {
				from, end = at, min(at+stagingBytes, p.mem.Size())
				if staging == nil {
					staging = make([]byte, end-from)
				}
				p.mem.Pack(staging[:end-from], from)
			}
			some := min(n, end-at)
			all.Add(off, staging[at-from:][:some])
			off, n, at = off+some, n-some, at+some
		}
	}
	return all.Sums()
}
