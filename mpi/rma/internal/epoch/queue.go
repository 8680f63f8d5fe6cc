package epoch

import "slices"

// A Queue is the lock of one process's part of a window, as that process keeps it for others: one
// exclusive holder, or any number of shared ones. Those that wait get it in the order in which they
// asked. A rank holds or waits at most once, which bounds the queue. The zero value is free.
type Queue struct {
	holders []int // ranks; more than one only if shared
	shared  bool
	waiting []waiter
	broken  bool // an exclusive holder died; no rank gets the lock any more
}

type waiter struct {
	rank      int
	exclusive bool
}

// An Answer says what becomes of a rank that asked for the lock.
type Answer uint8

// Answers.
const (
	Granted Answer = iota
	Waits          // it will be among the ranks that Unlock or Lost return
	Twice          // it holds the lock or waits for it already
	Broken         // a process died while it held the lock exclusively
)

// Lock asks for the lock.
func (q *Queue) Lock(rank int, exclusive bool) Answer {
	switch {
	case slices.Contains(q.holders, rank) || slices.ContainsFunc(q.waiting, func(w waiter) bool { return w.rank == rank }):
		return Twice
	case q.broken:
		return Broken
	}
	q.waiting = append(q.waiting, waiter{rank, exclusive})
	if granted := q.grant(); len(granted) > 0 {
		return Granted // no other waiter could get it
	}
	return Waits
}

// Unlock gives the lock back. It returns the ranks that get it now, and false if the rank does not
// hold it.
func (q *Queue) Unlock(rank int) (granted []int, ok bool) {
	i := slices.Index(q.holders, rank)
	if i < 0 {
		return nil, false
	}
	q.holders = slices.Delete(q.holders, i, i+1)
	return q.grant(), true
}

// Lost removes a rank that has died. Those that now get the lock are granted; if the rank held it
// exclusively, all that wait are refused, because what it protects may be half changed.
func (q *Queue) Lost(rank int) (granted, refused []int) {
	q.waiting = slices.DeleteFunc(q.waiting, func(w waiter) bool { return w.rank == rank })
	i := slices.Index(q.holders, rank)
	if i < 0 {
		return q.grant(), nil
	}
	q.holders = slices.Delete(q.holders, i, i+1)
	if q.shared {
		return q.grant(), nil
	}
	q.broken = true
	for _, w := range q.waiting {
		refused = append(refused, w.rank)
	}
	q.waiting = nil
	return nil, refused
}

// grant gives the lock to those that have waited longest.
func (q *Queue) grant() (granted []int) {
	for len(q.waiting) > 0 {
		w := q.waiting[0]
		if len(q.holders) > 0 && (!q.shared || w.exclusive) {
			break
		}
		q.waiting = slices.Delete(q.waiting, 0, 1)
		q.holders = append(q.holders, w.rank)
		q.shared = !w.exclusive
		granted = append(granted, w.rank)
	}
	return granted
}
