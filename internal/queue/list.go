package queue

// A List is a doubly linked list of records that carry their links themselves. A
// record leaves it in constant time from any position. It is in as many Lists as it
// has Links.
type List[T any] struct {
	first, last *Links[T]
	len         int
}

// Links are the links of a record in a List.
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

// First is the record at the front; nil if there is none.
func (l *List[T]) First() *T { return l.first.record() }

// Len is the number of records.
func (l *List[T]) Len() int { return l.len }

// Next is the record behind the one with these links; nil if that is the last.
func (c *Links[T]) Next() *T { return c.next.record() }

// Add puts p at the end. c are those of its links that belong to this List.
func (l *List[T]) Add(p *T, c *Links[T]) {
	last := l.last
	c.prev, c.of = last, p
	if last != nil {
		last.next = c
	} else {
		l.first = c
	}
	l.last = c
	l.len++
}

// Pop removes the record at the front and returns it; nil if there is none.
func (l *List[T]) Pop() *T {
	c := l.first
	if c == nil {
		return nil
	}
	p, next := c.of, c.next
	if next != nil {
		next.prev = nil
	} else {
		l.last = nil
	}
	l.first = next
	c.next, c.of = nil, nil // it had none before it
	l.len--
	return p
}

// Remove removes the record with these links, which must be in the list.
func (l *List[T]) Remove(c *Links[T]) {
	prev, next := c.prev, c.next
	if prev != nil {
		prev.next = next
	} else {
		l.first = next
	}
	if next != nil {
		next.prev = prev
	} else {
		l.last = prev
	}
	*c = Links[T]{}
	l.len--
}
