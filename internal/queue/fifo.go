// Package queue holds the intrusive containers of the methods: their elements
// carry the links themselves, so that putting one in allocates nothing, and
// taking one out leaves nothing behind. The containers are owned by one goroutine
// at a time.
//
// See fifo.go for the queue, list.go for the list that an element can leave from
// anywhere at once.
package queue

// A FIFO is a first-in, first-out queue of records that carry the link to the
// next themselves, so that queueing allocates nothing. A record is in one FIFO
// at most.
type FIFO[T any, P Linked[T]] struct{ head, tail P }

// Linked is a pointer to a record with a link.
type Linked[T any] interface {
	*T
	// Link is where the record keeps what comes after it.
	Link() **T
}

// Empty tells whether nothing is queued.
func (q *FIFO[T, P]) Empty() bool { return q.head == nil }

// Head is the first record, which stays; nil if there is none.
func (q *FIFO[T, P]) Head() P { return q.head }

// Tail is the last record, which stays; nil if there is none.
func (q *FIFO[T, P]) Tail() P { return q.tail }

// Push puts p behind the others.
func (q *FIFO[T, P]) Push(p P) {
	*p.Link() = nil
	if q.tail != nil {
		*q.tail.Link() = p
	} else {
		q.head = p
	}
	q.tail = p
}

// Pop takes the first record out; nil if there is none.
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

// PutBack makes p the first again.
func (q *FIFO[T, P]) PutBack(p P) {
	*p.Link() = q.head
	q.head = p
	if q.tail == nil {
		q.tail = p
	}
}

// Remove takes p out, wherever it is. It walks the queue.
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
