package bmi

// An OpList is a list of operations, linked through the operations themselves: a ring, so that an operation can leave without
// knowing its list. A method may keep the operations that it was given in lists. An operation is in one list at a time: Add
// takes it out of the one that it is in, and so does Op.Complete. A list must not be copied while it has operations.
type OpList struct{ ends opLinks } // the front is behind it, the end before it; zero: empty

type opLinks struct {
	prev, next *opLinks // nil: in no list
	op         *Op      // always set; nil: these are the ends of a list
}

// First is the operation at the front; nil if there is none.
func (l *OpList) First() *Op {
	if l.ends.next == nil {
		return nil
	}
	return l.ends.next.op
}

// Len is the number of operations. It walks the list.
func (l *OpList) Len() (n int) {
	for at := l.ends.next; at != nil && at.op != nil; at = at.next {
		n++
	}
	return n
}

// Add puts an operation at the end.
func (l *OpList) Add(op *Op) {
	ends, links := &l.ends, &op.links
	if ends.next == nil {
		ends.prev, ends.next = ends, ends
	}
	if links.next != nil {
		links.prev.next, links.next.prev = links.next, links.prev
	}
	last := ends.prev
	links.prev, links.next = last, ends
	last.next, ends.prev = links, links
}

// Leave takes the operation out of the list that it is in, if it is in one.
func (op *Op) Leave() {
	if c := &op.links; c.next != nil {
		c.prev.next, c.next.prev = c.next, c.prev
		c.prev, c.next = nil, nil
	}
}
