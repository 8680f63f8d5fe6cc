package rpc

import (
	"errors"
	"iter"
)

// A cutter divides pieces of memory into messages.
type cutter struct {
	next   func() ([]byte, bool)
	finish func()
	rest   []byte // of the current piece
	most   int    // of one message, at most
}

func (c *cutter) begin(memory iter.Seq[[]byte], most int) {
	c.next, c.finish = iter.Pull(memory)
	c.rest, c.most = nil, most
}

func (c *cutter) end() {
	c.finish()
	*c = cutter{}
}

var errMemory = errors.New("internal/pvfs/rpc: the memory of the flow is shorter than its bytes")

// take returns the next n bytes as a list, which is stored in p. If there are too many pieces, the list is one buffer: for a send
// a copy, for a receive a buffer to copy from.
func (c *cutter) take(n int, p *part, send bool) ([][]byte, error) {
	p.list, p.bounce = p.list[:0], nil
	for left := n; left > 0; {
		if len(c.rest) == 0 {
			b, ok := c.next()
			if !ok {
				return nil, errMemory
			}
			c.rest = b
			continue
		}
		b := c.rest[:min(len(c.rest), left)]
		c.rest = c.rest[len(b):]
		left -= len(b)
		p.list = append(p.list, b)
	}
	if len(p.list) <= c.most {
		return p.list, nil
	}
	if cap(p.kept) < n {
		p.kept = make([]byte, n)
	}
	p.bounce = p.kept[:n]
	if send {
		b := p.bounce
		for _, piece := range p.list {
			b = b[copy(b, piece):]
		}
	}
	return [][]byte{p.bounce}, nil
}
