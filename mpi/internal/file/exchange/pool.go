package exchange

import "sync"

// A Pool keeps the buffers of operations on a file for later ones: fresh memory costs more than the
// copying of the bytes that go there. The zero Pool is empty.
type Pool struct {
	mu   sync.Mutex
	free [][]byte
	kept int64 // bytes
}

// A Pool keeps as many bytes as keptBuffers times the memory of an aggregator, and up to keptMax
// buffers.
const (
	keptBuffers = 3
	keptMax     = 64
)

// take returns n bytes of any contents.
func (p *Pool) take(n int64) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i, b := range p.free {
		if int64(cap(b)) >= n && (best < 0 || cap(b) < cap(p.free[best])) {
			best = i
		}
	}
	if best < 0 {
		return make([]byte, n)
	}
	b := p.free[best]
	last := len(p.free) - 1
	p.free[best], p.free[last] = p.free[last], nil
	p.free = p.free[:last]
	p.kept -= int64(cap(b))
	return b[:n]
}

// give takes back a buffer that take returned, or nil.
func (p *Pool) give(b []byte, bufferBytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := int64(cap(b)); n > 0 && p.kept+n <= keptBuffers*bufferBytes && len(p.free) < keptMax {
		p.free = append(p.free, b)
		p.kept += n
	}
}
