package queue

// A List is a doubly linked list of records that carry their links themselves. A
// record leaves it in constant time from any position, and is in at most one List.
type List[T any, P Chained[T]] struct {
	first, last *Links[T]
	len         int
}

// Links are the links of a record in a List. They point to other records' Links and
// not to the records, which would need a call of Chain at each step.
type Links[T any] struct {
	prev, next *Links[T]
	of         *T // the record; nil: in no List
}

// record returns the record of the links; nil if there are no links.
func (c *Links[T]) record() *T {
	if c == nil {
		return nil
	}
	return c.of
}

// Chained is a pointer to a record with Links.
type Chained[T any] interface {
	*T
	// Chain returns the record's links.
	Chain() *Links[T]
}

// First is the record at the front; nil if there is none.
func (l *List[T, P]) First() P { return l.first.record() }

// Len is the number of records.
func (l *List[T, P]) Len() int { return l.len }

// Next is the record behind p; nil if p is the last.
func (l *List[T, P]) Next(p P) P { return p.Chain().next.record() }

// Add puts p at the end.
func (l *List[T, P]) Add(p P) {
	c := p.Chain()
	c.prev, c.next, c.of = l.last, nil, p
	if l.last != nil {
		l.last.next = c
	} else {
		l.first = c
	}
	l.last = c
	l.len++
}

// Remove removes p, which must be in the list.
func (l *List[T, P]) Remove(p P) {
	c := p.Chain()
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		l.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else {
		l.last = c.prev
	}
	*c = Links[T]{}
	l.len--
}
