package queue

// Rounds are items that wait for the next round. What a round adds waits for the one after
// it.
type Rounds[T any] struct{ next, last []T }

// Len is how many items wait.
func (q *Rounds[T]) Len() int { return len(q.next) }

// Add adds items.
func (q *Rounds[T]) Add(items ...T) { q.next = append(q.next, items...) }

// Each is a round: it removes all items that wait, and calls fn with each, in order.
func (q *Rounds[T]) Each(fn func(T)) {
	round := q.next
	q.next = q.last[:0]
	for _, item := range round {
		fn(item)
	}
	clear(round)
	q.last = round[:0]
}
