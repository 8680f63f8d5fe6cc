package datatype

import (
	"github.com/viaduct-hpc/viaduct/mpi/attr"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Type is an MPI datatype. It is immutable and safe for concurrent use. The zero value is
// invalid; constructors and Of return Types.
type Type struct {
	shape      shape
	lb, extent int
	contiguous bool
	name       string
	made       Contents
	attrs      *attr.List[*Type]
}

// newType makes the type of a shape, or returns an error if computing it overflowed.
func newType(s shape, c *sums, made Contents) (*Type, error) {
	lb, ub := s.bounds(c)
	t := &Type{shape: s, lb: lb, extent: c.sub(ub, lb), made: made, attrs: new(attr.List[*Type])}
	c.sub(s.trueUB, s.trueLB)
	if c.bad {
		return nil, errclass.New(errclass.ValueTooLarge,
			"the size or the bounds of the datatype do not fit into %d bits: use smaller counts, strides or displacements", intBits)
	}
	p := s.native
	t.contiguous = lb == 0 && t.extent == s.size &&
		(s.size == 0 || p.off == 0 && p.n.form == strided && p.n.count == 1)
	return t, nil
}

// intBits is the number of bits of an int.
const intBits = 32 << (^uint(0) >> 63)

// Size returns the number of data bytes in an element of the type (MPI_Type_size, MPI-4.1, 5.1.5).
func (t *Type) Size() int { return t.shape.size }

// Extent returns the lower bound and the extent in bytes: element i of a buffer lies i extents
// behind the first (MPI_Type_get_extent, MPI-4.1, 5.1.7).
func (t *Type) Extent() (lb, extent int) { return t.lb, t.extent }

// TrueExtent returns the lower bound and the extent of the data alone, without the effect of
// Resized (MPI_Type_get_true_extent, MPI-4.1, 5.1.8).
func (t *Type) TrueExtent() (lb, extent int) {
	return t.shape.trueLB, t.shape.trueUB - t.shape.trueLB
}

// Contiguous reports whether elements follow one another without gaps and in order, from the
// buffer's address on: count of them are the count × Size bytes there.
func (t *Type) Contiguous() bool { return t.contiguous }

// Kind returns the kind of all leaves, or KindNone if they differ.
func (t *Type) Kind() Kind { return t.shape.kind }

// Elements returns the number of leaves in an element of the type. A pair is one leaf.
func (t *Type) Elements() int { return t.shape.leaves }

// Fits returns an error unless count elements at mem[origin], in a memory of memLen bytes, lie
// completely in it. It takes the same time for every type and count. Errors have class Type (t is
// nil), Count, Buffer, or ValueTooLarge.
func (t *Type) Fits(memLen, origin, count int) error {
	_, err := t.total(memLen, origin, count)
	return err
}

// total returns the packed size of count elements, and checks that they fit in the memory.
func (t *Type) total(memLen, origin, count int) (int, error) {
	if t == nil {
		return 0, errNil()
	}
	// Contiguous elements are the usual case.
	if s := t.shape.size; t.contiguous && s > 0 && uint(count) <= 1<<31 && s <= 1<<31 && origin >= 0 &&
		count*s <= memLen-origin {
		return count * s, nil
	}
	return t.totalOfAny(memLen, origin, count)
}

func (t *Type) totalOfAny(memLen, origin, count int) (int, error) {
	total, err := t.PackSize(count)
	if err != nil || total == 0 {
		return 0, err
	}
	var c sums
	low, high := t.reach(&c, count)
	low, high = c.add(origin, low), c.add(origin, high)
	if c.bad {
		return 0, errclass.New(errclass.ValueTooLarge, "%d elements of %v reach beyond any memory", count, t)
	}
	if low < 0 || high > memLen {
		return 0, errclass.New(errclass.Buffer, "%d elements of %v at %d touch bytes %d to %d of a buffer of %d bytes: make the buffer larger or the count smaller",
			count, t, origin, low, high-1, memLen)
	}
	return total, nil
}

// reach returns the range that count > 0 elements cover, relative to their address.
func (t *Type) reach(c *sums, count int) (low, high int) {
	last := c.mul(count-1, t.extent)
	return c.add(t.shape.trueLB, min(last, 0)), c.add(t.shape.trueUB, max(last, 0))
}

// Distinct returns an error, of class Type, if receiving into count elements would write some byte
// twice (MPI-4.1, 5.1.11): if they have more bytes than they touch. The check is fast and finds
// strides that are too small. It misses elements that overlap in an interleaved pattern; then
// either of the received values may remain.
func (t *Type) Distinct(count int) error {
	if t == nil {
		return errNil()
	}
	if t.contiguous || count < 1 || t.shape.size == 0 {
		return nil
	}
	total, err := t.PackSize(count)
	if err != nil {
		return err
	}
	var c sums
	low, high := t.reach(&c, count)
	if touched := c.sub(high, low); !c.bad && touched < total {
		return errclass.New(errclass.Type, "%d elements of %v are %d bytes in a memory of %d, so that some would be received twice: send such a type only",
			count, t, total, touched)
	}
	return nil
}

// Piece reports whether count > 0 elements are one contiguous run of memory, in order. If so, it
// also returns how far behind their address it begins, and its length. Such elements can be sent
// and received in place. They include all contiguous types, single rows, and subarrays of whole
// rows.
func (t *Type) Piece(count int) (off, length int, ok bool) {
	p := t.shape.native
	if p.n == nil || count < 1 || p.n.form != strided || p.n.count != 1 || count > 1 && t.extent != p.n.length {
		return 0, 0, false
	}
	return p.off, count * p.n.length, true
}

// PackSize returns the packed size of count elements in bytes (MPI_Pack_size, MPI-4.1, 5.2). Errors
// have class Type, Count or ValueTooLarge.
func (t *Type) PackSize(count int) (int, error) {
	if t == nil {
		return 0, errNil()
	}
	if count < 0 {
		return 0, errCount(count)
	}
	var c sums
	total := c.mul(count, t.shape.size)
	if c.bad {
		return 0, errclass.New(errclass.ValueTooLarge, "the size of %d elements of %v does not fit into %d bits: send fewer at once", count, t, intBits)
	}
	return total, nil
}

// Name returns the name that Named gave, or "" if none; predefined types have Go's names
// (MPI_Type_get_name, MPI-4.1, 7.8).
func (t *Type) Name() string { return t.name }

// Named returns the same type with a name for display and without attributes (MPI_Type_set_name,
// MPI-4.1, 7.8).
func (t *Type) Named(name string) *Type {
	named := *t
	named.name, named.attrs = name, new(attr.List[*Type])
	return &named
}

// String returns a text for errors and logs.
func (t *Type) String() string {
	switch {
	case t == nil:
		return "no datatype"
	case t.name != "":
		return t.name
	case t.shape.kind != KindNone:
		return t.made.Combiner.String() + " of " + t.shape.kind.String()
	}
	return t.made.Combiner.String()
}

func errNil() error {
	return errclass.New(errclass.Type, "the datatype is nil: use a predefined one, a constructor or Of")
}

func errCount(count int) error {
	return errclass.New(errclass.Count, "count %d is negative", count)
}
