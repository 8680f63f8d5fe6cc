package datatype

import (
	"math"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Representation says how basic elements are stored outside of memory, as in a file (MPI-4.1,
// 14.5). Its functions get basic elements only: a pair is a value and an index.
type Representation struct {
	// Size returns how many bytes an element of a kind has.
	Size func(k Kind) (int, error)
	// Encode converts n elements from memory, Decode converts n elements to memory. On both sides they
	// lie one behind another.
	Encode, Decode func(dst, src []byte, k Kind, n int) error
}

// sizes are the bytes of a representation's elements, by kind. Those of kinds that a type does not
// have are 0.
type sizes [kindEnd]int

// sizesOf returns the sizes of the elements of a type.
func (r *Representation) sizesOf(t *Type) (*sizes, error) {
	s := new(sizes)
	if t.shape.wire.n == nil {
		return s, nil
	}
	return s, t.shape.wire.n.eachKind(func(k Kind) (err error) {
		if s[k] == 0 {
			s[k], err = r.size(k)
		}
		return err
	})
}

// size is Size with a check of what it returns.
func (r *Representation) size(k Kind) (int, error) {
	n, err := r.Size(k)
	switch {
	case err != nil:
		return 0, errConversion(err, k)
	case n < 1 || n > math.MaxUint16:
		return 0, errclass.New(errclass.Conversion, "the representation has elements of the kind %v of %d bytes: 1 to %d are possible", k, n, math.MaxUint16)
	}
	return n, nil
}

// eachKind calls f for the kinds of a node without mixed grains, some of them several times.
func (n *node) eachKind(f func(k Kind) error) error {
	switch n.form {
	case loop:
		return n.body.eachKind(f)
	case list:
		for _, p := range n.parts {
			if err := p.n.eachKind(f); err != nil {
				return err
			}
		}
		return nil
	}
	return f(n.grain.kind)
}

// sizeIn returns the bytes of a node without mixed grains in a representation.
func (n *node) sizeIn(c *sums, s *sizes) int {
	switch n.form {
	case loop:
		return c.mul(n.count, n.body.sizeIn(c, s))
	case list:
		total := 0
		for _, p := range n.parts {
			total = c.add(total, p.n.sizeIn(c, s))
		}
		return total
	}
	return c.mul(n.size/int(n.grain.elem), s[n.grain.kind])
}

// An elementRun is basic elements of one kind that lie together.
type elementRun struct {
	kind       Kind
	off, count int // where the first is in memory
	pos        int // and in the representation
}

// elements calls f for the runs of which bytes from to end-1 of a representation have a part. The
// node has no mixed grains, is placed at offset at, and begins at pos in the representation.
func (n *node) elements(at, pos, from, end int, s *sizes, f func(r elementRun) error) error {
	var c sums
	switch n.form {
	case loop:
		size := n.body.sizeIn(&c, s)
		for i := max(0, (from-pos)/size); i < n.count && pos+i*size < end; i++ {
			if err := n.body.elements(at+i*n.stride, pos+i*size, from, end, s, f); err != nil {
				return err
			}
		}
	case list:
		for _, p := range n.parts {
			size := p.n.sizeIn(&c, s)
			if pos < end && pos+size > from {
				if err := p.n.elements(at+p.off, pos, from, end, s, f); err != nil {
					return err
				}
			}
			pos += size
		}
	case strided:
		count := n.length / int(n.grain.elem)
		size := count * s[n.grain.kind]
		for i := max(0, (from-pos)/size); i < n.count && pos+i*size < end; i++ {
			if err := f(elementRun{n.grain.kind, at + i*n.stride, count, pos + i*size}); err != nil {
				return err
			}
		}
	case blocks:
		begin := 0
		for i, off := range n.offs {
			count := (n.ends[i] - begin) / int(n.grain.elem)
			size := count * s[n.grain.kind]
			if pos < end && pos+size > from {
				if err := f(elementRun{n.grain.kind, at + off, count, pos}); err != nil {
					return err
				}
			}
			begin, pos = n.ends[i], pos+size
		}
	}
	return nil
}
