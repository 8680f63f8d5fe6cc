package message

// A cover is the set of bytes of a message that have arrived: all before front, and islands beyond
// it. It is exact even if segments overlap, so a message with a hole never counts as complete.
type cover struct {
	front      uint32
	have       uint32 // bytes, including islands
	head, tail *island
}

// An island is the bytes [first, end). Islands of a cover are in ascending order
// and touch neither each other nor the front.
type island struct {
	first, end uint32
	next       *island
}

// add adds the bytes [first, end). It reports false, and adds nothing, if that
// needs more islands than a Queue may have.
func (q *Queue) add(c *cover, first, end uint32) bool {
	switch {
	case first <= c.front && c.head == nil:
		if end > c.front {
			c.have += end - c.front
			c.front = end
		}
		return true
	case first > c.front && (c.tail == nil || first > c.tail.end):
		is := q.island(first, end)
		if is == nil {
			return false
		}
		if c.tail == nil {
			c.head = is
		} else {
			c.tail.next = is
		}
		c.tail = is
		c.have += end - first
		return true
	case c.tail != nil && first >= c.tail.first && first <= c.tail.end:
		if end > c.tail.end {
			c.have += end - c.tail.end
			c.tail.end = end
		}
		return true
	}
	return q.addWithin(c, first, end)
}

// addWithin is add in front of the last island.
func (q *Queue) addWithin(c *cover, first, end uint32) bool {
	var before *island
	at := c.head
	for at != nil && at.end < first {
		before, at = at, at.next
	}
	if first > c.front && (at == nil || at.first > end) {
		is := q.island(first, end)
		if is == nil {
			return false
		}
		is.next = at
		q.link(c, before, is)
		c.have += end - first
		return true
	}
	// It touches the front or an island: everything that it touches becomes one.
	lo, hi, had := first, end, uint32(0)
	if first <= c.front {
		lo, hi, had = 0, max(end, c.front), c.front
		before, at = nil, c.head
	}
	for at != nil && at.first <= hi {
		lo, hi = min(lo, at.first), max(hi, at.end)
		had += at.end - at.first
		next := at.next
		q.freeIsland(at)
		at = next
	}
	c.have += hi - lo - had
	if lo == 0 {
		c.front = hi
		if c.head = at; at == nil {
			c.tail = nil
		}
		return true
	}
	is := q.island(lo, hi) // one was freed above
	is.next = at
	q.link(c, before, is)
	return true
}

// link puts an island behind another, or first.
func (q *Queue) link(c *cover, before, is *island) {
	if before == nil {
		c.head = is
	} else {
		before.next = is
	}
	if is.next == nil {
		c.tail = is
	}
}

// island allocates an island. It returns nil if the Queue has reached its limit.
func (q *Queue) island(first, end uint32) *island {
	if q.islands == IslandsMax {
		return nil
	}
	q.islands++
	p := q.pool
	is := p.islands
	if is == nil {
		is = &island{}
	} else {
		p.islands = is.next
		p.islandsWaiting--
	}
	*is = island{first: first, end: end}
	return is
}

func (q *Queue) freeIsland(is *island) {
	q.islands--
	if p := q.pool; p.islandsWaiting < freeIslandsMax {
		is.next, p.islands = p.islands, is
		p.islandsWaiting++
	}
}

// forget frees the islands of a cover.
func (q *Queue) forget(c *cover) {
	for is := c.head; is != nil; {
		next := is.next
		q.freeIsland(is)
		is = next
	}
	*c = cover{}
}
