package nic

// A Queue is a first-in, first-out queue of descriptors, linked by their Next.
type Queue struct {
	head, tail *Descriptor
	count      int
}

// Head is the oldest descriptor; nil if there is none.
func (q *Queue) Head() *Descriptor { return q.head }

// Len is the number of descriptors.
func (q *Queue) Len() int { return q.count }

// Push adds a descriptor.
func (q *Queue) Push(d *Descriptor) {
	d.Next = nil
	if q.tail == nil {
		q.head = d
	} else {
		q.tail.Next = d
	}
	q.tail = d
	q.count++
}

// Pop removes the oldest descriptor and returns it; nil if there is none.
func (q *Queue) Pop() *Descriptor {
	d := q.head
	if d == nil {
		return nil
	}
	if q.head = d.Next; q.head == nil {
		q.tail = nil
	}
	d.Next = nil
	q.count--
	return d
}
