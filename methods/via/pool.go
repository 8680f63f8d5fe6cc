package via

import "math/bits"

// bufferPool keeps buffers of messages that wait: powers of two from 64 bytes
// on, a bounded number of each.
type bufferPool struct {
	free [bufferClasses][][]byte
}

const (
	bufferBytesMin  = 64
	bufferClasses   = 10 // up to 32 KiB, twice an eager message
	buffersPerClass = 64
)

func bufferClass(size int) int {
	return bits.Len(uint(max(size, bufferBytesMin)-1)) - bits.Len(uint(bufferBytesMin-1))
}

// take returns an empty buffer with room for size bytes.
func (p *bufferPool) take(size int) []byte {
	c := bufferClass(size)
	if c >= bufferClasses {
		return make([]byte, 0, size)
	}
	if n := len(p.free[c]); n > 0 {
		b := p.free[c][n-1]
		p.free[c][n-1] = nil
		p.free[c] = p.free[c][:n-1]
		return b
	}
	return make([]byte, 0, bufferBytesMin<<c)
}

// give puts a buffer back.
func (p *bufferPool) give(b []byte) {
	c := bufferClass(cap(b))
	if c < bufferClasses && cap(b) == bufferBytesMin<<c && len(p.free[c]) < buffersPerClass {
		p.free[c] = append(p.free[c], b[:0])
	}
}
