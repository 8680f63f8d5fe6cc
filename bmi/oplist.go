package bmi

import "github.com/viaduct-hpc/viaduct/internal/queue"

// An OpList is a list of operations, linked through the operations themselves. A method may keep in lists
// what it was lent; an operation is in one list at a time, and in none when it completes.
type OpList struct{ list queue.List[Op] }

// First is the operation at the front; nil if there is none.
func (l *OpList) First() *Op { return l.list.First() }

// Len is the number of operations.
func (l *OpList) Len() int { return l.list.Len() }

// Add puts an operation at the end.
func (l *OpList) Add(op *Op) { l.list.Add(op, &op.links) }

// Pop takes out the operation at the front; nil if there is none.
func (l *OpList) Pop() *Op { return l.list.Pop() }

// Remove takes out an operation that is in the list, from any position.
func (l *OpList) Remove(op *Op) { l.list.Remove(&op.links) }
