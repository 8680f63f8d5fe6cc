package datatype

// A Cursor moves through the packed bytes of a buffer of (count, type) in pieces of any size, so
// that packing, sending and unpacking can overlap. To find the beginning of a piece takes a few
// steps down the type's tree, not a walk from the start. A Cursor may be copied; only one goroutine
// at a time uses it.
type Cursor struct {
	t             *Type
	mem           []byte
	origin, count int
	pos, total    int // packed bytes: 0 ≤ pos ≤ total
}

// NewCursor returns a cursor at the first packed byte of count elements at mem[origin]. Errors are
// those of Type.Fits.
func NewCursor(t *Type, mem []byte, origin, count int) (Cursor, error) {
	total, err := t.total(len(mem), origin, count)
	if err != nil {
		return Cursor{}, err
	}
	return Cursor{t: t, mem: mem, origin: origin, count: count, total: total}, nil
}

// Pack copies the next bytes to dst, as many as fit and are left, and returns their number.
func (c *Cursor) Pack(dst []byte) int { return c.move(dst, opPack) }

// Unpack copies src to the places of the next bytes, as far as any are left, and returns the number
// of bytes copied.
func (c *Cursor) Unpack(src []byte) int { return c.move(src, opUnpack) }

// Skip skips up to n bytes and returns the number skipped.
func (c *Cursor) Skip(n int) int {
	n = max(0, min(n, c.total-c.pos))
	c.pos += n
	return n
}

// Rewind returns to the first byte.
func (c *Cursor) Rewind() { c.pos = 0 }

// Pos returns how many bytes were packed, unpacked or skipped so far.
func (c *Cursor) Pos() int { return c.pos }

// Left returns how many bytes are left.
func (c *Cursor) Left() int { return c.total - c.pos }

func (c *Cursor) move(buf []byte, o op) int {
	n := min(len(buf), c.total-c.pos)
	if n == 0 {
		return 0
	}
	m := mover{mem: c.mem, buf: buf[:n], op: o}
	p := c.t.shape.native
	if c.t.contiguous {
		m.run(n, 1, c.origin+c.pos, 0)
	} else {
		all := loopHead(p.n, c.count, c.t.extent)
		m.span(&all, c.origin+p.off, 0, c.pos, c.pos+n)
	}
	c.pos += n
	return n
}
