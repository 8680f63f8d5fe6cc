// Package queue has the intrusive containers of the methods: their elements carry
// the links themselves, so that adding one allocates nothing, and removing one
// leaves nothing behind. A container is owned by one goroutine at a time.
//
// fifo.go has the queue, list.go the list that an element can leave from anywhere
// in constant time.
package queue

// A FIFO is a first-in, first-out queue of records that carry the link to the
// next record themselves, so that queueing allocates nothing. A record is in at
// most one FIFO.
type FIFO[T any, P Linked[T]] struct{ head, tail P }

// Linked is a pointer to a record with a link.
type Linked[T any] interface {
	*T
	// Link is the record's link to the next one.
	Link() **T
}

// Empty reports whether the queue is empty.
func (q *FIFO[T, P]) Empty() bool { return q.head == nil }

// Head returns the first record without removing it; nil if there is none.
func (q *FIFO[T, P]) Head() P { return q.head }

// Tail returns the last record without removing it; nil if there is none.
func (q *FIFO[T, P]) Tail() P { return q.tail }

// Push adds p at the end.
func (q *FIFO[T, P]) Push(p P) {
	*p.Link() = nil
	if q.tail != nil {
		*q.tail.Link() = p
	} else {
		q.head = p
	}
	q.tail = p
}

// Pop removes and returns the first record; nil if there is none.
func (q *FIFO[T, P]) Pop() P {
	p := q.head
	if p == nil {
		return nil
	}
	if q.head = *p.Link(); q.head == nil {
		q.tail = nil
	}
	*p.Link() = nil
	return p
}

// PutBack adds p at the front.
func (q *FIFO[T, P]) PutBack(p P) {
	*p.Link() = q.head
	q.head = p
	if q.tail == nil {
		q.tail = p
	}
}

// Remove removes p from any position. It walks the queue.
func (q *FIFO[T, P]) Remove(p P) {
	var before P
	for at := q.head; at != nil; before, at = at, *at.Link() {
		if at != p {
			continue
		}
		if before == nil {
			q.head = *p.Link()
		} else {
			*before.Link() = *p.Link()
		}
		if q.tail == p {
			q.tail = before
		}
		*p.Link() = nil
		return
	}
}
