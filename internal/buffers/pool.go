// Package buffers recycles the buffers in which methods keep waiting messages. A
// pool is owned by one goroutine at a time.
package buffers

import "math/bits"

// A Pool recycles buffers of waiting messages: powers of two from 64 bytes on, a
// bounded number of each.
type Pool struct {
	free [classes][][]byte
}

const (
	bytesMin = 64
	classes  = 10 // up to 32 KiB, twice an eager message
	perClass = 64
)

func classOf(size int) int {
	return bits.Len(uint(max(size, bytesMin)-1)) - bits.Len(uint(bytesMin-1))
}

// Take returns an empty buffer with room for size bytes.
func (p *Pool) Take(size int) []byte {
	c := classOf(size)
	if c >= classes {
		return make([]byte, 0, size)
	}
	if n := len(p.free[c]); n > 0 {
		b := p.free[c][n-1]
		p.free[c][n-1] = nil
		p.free[c] = p.free[c][:n-1]
		return b
	}
	return make([]byte, 0, bytesMin<<c)
}

// Give returns a buffer to the pool.
func (p *Pool) Give(b []byte) {
	c := classOf(cap(b))
	if c < classes && cap(b) == bytesMin<<c && len(p.free[c]) < perClass {
		p.free[c] = append(p.free[c], b[:0])
	}
}
