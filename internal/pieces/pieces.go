// Package pieces walks messages that lie in several pieces of memory.
package pieces

// A Cursor is a position in the pieces of a message. The zero Cursor is their beginning.
type Cursor struct {
	piece int // 0 ≤ piece ≤ number of pieces
	off   int // in that piece, in bytes
}

// At returns the position of byte off, which is at most the length of the message.
func At(bufs [][]byte, off int) (c Cursor) {
	c.Advance(bufs, off)
	return c
}

// Advance moves the cursor by n bytes. They must be there.
func (c *Cursor) Advance(bufs [][]byte, n int) {
	for n > 0 {
		left := len(bufs[c.piece]) - c.off
		if n < left {
			c.off += n
			return
		}
		n -= left
		c.piece, c.off = c.piece+1, 0
	}
}

// Scatter copies data to the cursor's position and moves the cursor behind it. There must
// be room.
func (c *Cursor) Scatter(bufs [][]byte, data []byte) {
	for len(data) > 0 {
		n := copy(bufs[c.piece][c.off:], data)
		data = data[n:]
		if c.off += n; c.off == len(bufs[c.piece]) {
			c.piece, c.off = c.piece+1, 0
		}
	}
}

// Copy copies a whole message to its pieces. There must be room.
func Copy(bufs [][]byte, data []byte) {
	if len(bufs) == 1 {
		copy(bufs[0], data)
		return
	}
	var c Cursor
	c.Scatter(bufs, data)
}

// Append appends to vec the next n bytes as slices of the pieces, or fewer if those would be
// more than room slices. It also returns how many bytes it appended.
func (c Cursor) Append(vec, bufs [][]byte, n, room int) (_ [][]byte, total int) {
	off := c.off
	for _, b := range bufs[c.piece:] {
		b, off = b[off:], 0
		if room == 0 || n == 0 {
			break
		}
		if len(b) == 0 {
			continue
		}
		b = b[:min(len(b), n)]
		vec = append(vec, b)
		n -= len(b)
		total += len(b)
		room--
	}
	return vec, total
}

// Gather appends to buf a copy of the next n bytes, or of those that are left.
func (c Cursor) Gather(buf []byte, bufs [][]byte, n int) []byte {
	off := c.off
	for _, b := range bufs[c.piece:] {
		b, off = b[off:], 0
		b = b[:min(len(b), n)]
		buf = append(buf, b...)
		if n -= len(b); n == 0 {
			break
		}
	}
	return buf
}
