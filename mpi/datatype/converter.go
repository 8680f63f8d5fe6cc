package datatype

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

// A Converter converts between the elements of a buffer of (count, type) and a stream of bytes in a
// representation, in pieces of any size and in any order: a piece may begin and end within an
// element. Only one goroutine at a time uses it.
type Converter struct {
	t             *Type
	mem           []byte
	origin, count int
	rep           *Representation

	swaps   bool // elements have the sizes of memory, and only the order of bytes differs
	sizes   *sizes
	element int             // bytes of an element of t
	parts   map[int]*filled // elements that Unpack has received in part, by their first byte
}

// A filled buffer has n bytes that count.
type filled struct {
	buf []byte
	n   int
}

// NewConverter returns a converter of count elements at mem[origin]. Errors are those of Type.Fits,
// and those of class Conversion of the representation.
func NewConverter(r *Representation, t *Type, mem []byte, origin, count int) (*Converter, error) {
	if err := t.Fits(len(mem), origin, count); err != nil {
		return nil, err
	}
	c := &Converter{t: t, mem: mem, origin: origin, count: count, rep: r}
	return c, c.prepare()
}

func (c *Converter) prepare() (err error) {
	c.element = c.t.shape.size
	c.swaps = c.rep == External32 && !c.t.shape.converts
	if c.swaps || c.element == 0 {
		return nil
	}
	if c.sizes, err = c.rep.sizesOf(c.t); err != nil {
		return err
	}
	var s sums
	c.element = c.t.shape.wire.n.sizeIn(&s, c.sizes)
	if s.mul(c.element, c.count); s.bad {
		return errclass.New(errclass.ValueTooLarge, "%d elements of %v have more bytes in the representation than an int holds", c.count, c.t)
	}
	return nil
}

// Size returns the bytes of all elements in the representation.
func (c *Converter) Size() int { return c.count * c.element }

// Pack converts the bytes from offset from on. dst ends at Size at the latest.
func (c *Converter) Pack(dst []byte, from int) error {
	if c.swaps {
		c.swap(dst, from, opPackExternal)
		return nil
	}
	end := from + len(dst)
	return c.elements(from, end, func(r elementRun) error {
		return c.cut(r, from, end, func(i, n int, part span) error {
			size, mem := c.sizes[r.kind], c.memory(r, i, n)
			if part.whole() {
				return c.rep.Encode(dst[part.at-from:][:n*size], mem, r.kind, n)
			}
			one := make([]byte, size)
			err := c.rep.Encode(one, mem, r.kind, 1)
			copy(dst[part.at-from:], one[part.skip:][:part.bytes])
			return err
		})
	})
}

// Unpack converts src, the bytes from offset from on, to memory. src ends at Size at the latest. An
// element is converted when all its bytes are there.
func (c *Converter) Unpack(from int, src []byte) error {
	if c.swaps {
		c.swap(src, from, opUnpackExternal)
		return nil
	}
	end := from + len(src)
	return c.elements(from, end, func(r elementRun) error {
		return c.cut(r, from, end, func(i, n int, part span) error {
			size, mem := c.sizes[r.kind], c.memory(r, i, n)
			if part.whole() {
				return c.rep.Decode(mem, src[part.at-from:][:n*size], r.kind, n)
			}
			whole := c.fill(part.at-part.skip, size, part.skip, src[part.at-from:][:part.bytes])
			if whole == nil {
				return nil
			}
			return c.rep.Decode(mem, whole, r.kind, 1)
		})
	})
}

// swap moves bytes that need no other conversion.
func (c *Converter) swap(buf []byte, from int, o op) {
	if len(buf) == 0 {
		return
	}
	p := c.t.shape.wire
	m := mover{mem: c.mem, buf: buf, op: o, cuts: true}
	all := loopHead(p.n, c.count, c.t.extent)
	m.span(&all, c.origin+p.off, 0, from, from+len(buf))
}

// elements calls f for the runs with bytes from to end-1.
func (c *Converter) elements(from, end int, f func(r elementRun) error) error {
	p := c.t.shape.wire
	for i := from / max(c.element, 1); i*c.element < end; i++ {
		if err := p.n.elements(c.origin+p.off+i*c.t.extent, i*c.element, from, end, c.sizes, f); err != nil {
			return err
		}
	}
	return nil
}

// memory returns n elements of a run, from element i on.
func (c *Converter) memory(r elementRun, i, n int) []byte {
	size := kinds[r.kind].size
	return c.mem[r.off+i*size:][:n*size]
}

// A span is bytes of the representation, at at. If bytes is not 0, the span is a part of one
// element, after its first skip bytes.
type span struct{ at, skip, bytes int }

func (p span) whole() bool { return p.bytes == 0 }

// cut calls f for the bytes from to end-1 of a run: for n whole elements from i on, and for parts of
// one.
func (c *Converter) cut(r elementRun, from, end int, f func(i, n int, part span) error) error {
	size := c.sizes[r.kind]
	end = min(end, r.pos+r.count*size)
	for at := max(from, r.pos); at < end; {
		i, skip := (at-r.pos)/size, (at-r.pos)%size
		n, part := (end-at)/size, span{at: at}
		bytes := n * size
		if skip > 0 || n == 0 {
			bytes = min(size-skip, end-at)
			n, part = 1, span{at, skip, bytes}
		}
		if err := f(i, n, part); err != nil {
			return errConversion(err, r.kind)
		}
		at += bytes
	}
	return nil
}

// fill adds a part of the element at pos, and returns the whole element if it has all parts now.
func (c *Converter) fill(pos, size, skip int, part []byte) []byte {
	if c.parts == nil {
		c.parts = make(map[int]*filled)
	}
	p := c.parts[pos]
	if p == nil {
		p = &filled{buf: make([]byte, size)}
		c.parts[pos] = p
	}
	p.n += copy(p.buf[skip:], part)
	if p.n < size {
		return nil
	}
	delete(c.parts, pos)
	return p.buf
}

// Packed returns how many bytes the elements that end in the first n bytes of the representation
// have in memory.
func (c *Converter) Packed(n int) int {
	if c.swaps || n == 0 {
		return n
	}
	packed := n / c.element * c.t.shape.size
	first := n - n%c.element
	_ = c.elements(first, n, func(r elementRun) error { // which returns no error
		packed += min(r.count, (n-r.pos)/c.sizes[r.kind]) * kinds[r.kind].size
		return nil
	})
	return packed
}

// incomplete returns how many of the first n bytes belong to an element that ends behind them.
func (c *Converter) incomplete(n int) (bytes int) {
	if n == 0 {
		return 0
	}
	_ = c.elements(n-1, n, func(r elementRun) error { // which returns no error
		if r.pos+r.count*c.sizes[r.kind] > n {
			bytes = (n - r.pos) % c.sizes[r.kind]
		}
		return nil
	})
	return bytes
}
