package via

// A fifo is a first-in, first-out queue of records that carry the link to the
// next themselves, so that queueing allocates nothing. A record is in one fifo
// at most.
type fifo[T any, P linked[T]] struct{ head, tail P }

// linked is a pointer to a record with a link.
type linked[T any] interface {
	*T
	// link is where the record keeps what comes after it.
	link() **T
}

func (q *fifo[T, P]) empty() bool { return q.head == nil }

func (q *fifo[T, P]) push(p P) {
	*p.link() = nil
	if q.tail != nil {
		*q.tail.link() = p
	} else {
		q.head = p
	}
	q.tail = p
}

// pop takes the first record out; nil if there is none.
func (q *fifo[T, P]) pop() P {
	p := q.head
	if p == nil {
		return nil
	}
	if q.head = *p.link(); q.head == nil {
		q.tail = nil
	}
	*p.link() = nil
	return p
}

// putBack makes p the first again.
func (q *fifo[T, P]) putBack(p P) {
	*p.link() = q.head
	q.head = p
	if q.tail == nil {
		q.tail = p
	}
}

// remove takes p out, wherever it is. It walks the queue.
func (q *fifo[T, P]) remove(p P) {
	var before P
	for at := q.head; at != nil; before, at = at, *at.link() {
		if at != p {
			continue
		}
		if before == nil {
			q.head = *p.link()
		} else {
			*before.link() = *p.link()
		}
		if q.tail == p {
			q.tail = before
		}
		*p.link() = nil
		return
	}
}
