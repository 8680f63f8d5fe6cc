package rpc

import "github.com/viaduct-hpc/viaduct/bmi"

// A backlog holds requests that wait for a worker. It gives them out by clients in turn, each
// client's in the order of their arrival.
type backlog struct {
	clients map[bmi.Addr]*client
	turn    []*client // those with requests; turn[0] is the next
	n       int       // requests
}

// A client is one peer's part of a backlog. It is there while requests wait or run.
type client struct {
	addr    bmi.Addr
	waiting []bmi.Unexpected
	running int
}

func newBacklog() backlog { return backlog{clients: make(map[bmi.Addr]*client)} }

// put adds a request, unless its client has most waiting already.
func (b *backlog) put(m bmi.Unexpected, most int) bool {
	c := b.client(m.From)
	if len(c.waiting) >= most {
		return false
	}
	if len(c.waiting) == 0 {
		b.turn = append(b.turn, c)
	}
	c.waiting = append(c.waiting, m)
	b.n++
	return true
}

func (b *backlog) client(a bmi.Addr) *client {
	c := b.clients[a]
	if c == nil {
		c = &client{addr: a}
		b.clients[a] = c
	}
	return c
}

// take gives a request of the next client of which fewer than most are running, and counts
// it as running.
func (b *backlog) take(most int) (bmi.Unexpected, bool) {
	for i, c := range b.turn {
		if c.running >= most {
			continue
		}
		m := c.waiting[0]
		c.waiting[0] = bmi.Unexpected{}
		c.waiting = c.waiting[1:]
		copy(b.turn[i:], b.turn[i+1:])
		b.turn[len(b.turn)-1] = nil
		b.turn = b.turn[:len(b.turn)-1]
		if len(c.waiting) > 0 {
			b.turn = append(b.turn, c)
		} else {
			c.waiting = nil
		}
		b.n--
		c.running++
		return m, true
	}
	return bmi.Unexpected{}, false
}

// done ends the running of a client's request.
func (b *backlog) done(a bmi.Addr) {
	c := b.clients[a]
	c.running--
	if c.running == 0 && len(c.waiting) == 0 {
		delete(b.clients, a)
	}
}
