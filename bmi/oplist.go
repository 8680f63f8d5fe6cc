package bmi

// An OpList is a list of operations, linked through the operations themselves. A method may keep in lists
// what it was lent; an operation is in one list at a time, and in none when it completes.
type OpList struct {
	first, last *Op
	len         int
}

// First is the operation at the front; nil if there is none.
func (l *OpList) First() *Op { return l.first }

// Len is the number of operations.
func (l *OpList) Len() int { return l.len }

// Add puts an operation at the end.
func (l *OpList) Add(op *Op) {
	last := l.last
	op.prev = last
	if last == nil {
		l.first = op
	} else {
		last.next = op
	}
	l.last = op
	l.len++
}

// Remove takes out an operation that is in the list, from any position.
func (l *OpList) Remove(op *Op) {
	next, prev := op.next, op.prev
	if prev == nil {
		l.first = next
	} else {
		prev.next = next
	}
	if next == nil {
		l.last = prev
	} else {
		next.prev = prev
	}
	op.next, op.prev = nil, nil
	l.len--
}
