package bmi

import "fmt"

// A lane holds the operations of one context with one method: free, lent to the
// method, or completed and not yet returned by a Test call. The method's engine
// lock guards everything in it.
type lane struct {
	ctx    *Context
	in     *instance
	closed bool // the context is closed: nothing is posted any more

	chunks [][]Op // never move, because methods keep pointers into them
	free   *Op
	used   int  // lent to the method, or completed; 0 ≤ used ≤ Limits.PendingOps
	full   bool // a post was refused since the last release

	completed OpList // oldest first
}

// chunkOps is how many operations a lane grows by.
const chunkOps = 64

// takeFreeLocked takes a free operation; there must be one.
func (l *lane) takeFreeLocked() *Op {
	op := l.free
	l.free = op.free
	op.state = opPosting
	l.used++
	return op
}

// lentLocked is the number of operations lent to the method. It walks those that are not.
func (l *lane) lentLocked() int { return l.used - l.completed.Len() }

// growLocked makes free operations, or fails with ErrAgain.
func (l *lane) growLocked() error {
	limit, have := l.in.ep.cfg.Limits.PendingOps, len(l.chunks)*chunkOps
	if l.used >= limit {
		l.full = true
		return fmt.Errorf("%w (%d with %s)", ErrAgain, limit, l.in.info.Name)
	}
	chunk := make([]Op, min(chunkOps, limit-have))
	for i := len(chunk) - 1; i >= 0; i-- {
		op := &chunk[i]
		op.lane, op.links.op, op.id = l, op, newID(l.in.index, have+i)
		op.free, l.free = l.free, op
	}
	l.chunks = append(l.chunks, chunk)
	return nil
}

// releaseLocked gives the result of an operation that has completed to the caller, and the operation back to the free list. It
// drops the references to the caller's memory.
func (l *lane) releaseLocked(op *Op, result *Completion) {
	result.Op, result.Err, result.Size, result.User = op.id, op.err, op.size, op.user
	if op.state != opDone { // its id was given to the caller
		op.id = op.id.next()
	}
	op.state = opFree
	op.Leave()
	op.Peer, op.Private = nil, nil
	op.user, op.call = nil, nil
	op.one[0] = nil
	if op.File.File != nil {
		op.File = FileRange{}
	}
	if len(op.list) > 0 {
		clear(op.list)
		op.list = op.list[:0]
	}
	op.free, l.free = l.free, op
	l.used--
	if l.full {
		l.full = false
		l.in.ep.monitor.WakeList(&l.ctx.waits)
	}
}

// findLocked is the operation with this id, or nil if the id was not handed out
// or was already returned.
func (l *lane) findLocked(id OpID) *Op {
	chunk, i := id.slot()/chunkOps, id.slot()%chunkOps
	if chunk >= len(l.chunks) || i >= len(l.chunks[chunk]) {
		return nil
	}
	op := &l.chunks[chunk][i]
	if op.id != id || op.call != nil || (op.state != opPosted && op.state != opCompleted) {
		return nil
	}
	return op
}

// eachPostedLocked calls fn for every operation lent to the method.
func (l *lane) eachPostedLocked(fn func(*Op)) {
	for _, chunk := range l.chunks {
		for i := range chunk {
			if chunk[i].state == opPosted {
				fn(&chunk[i])
			}
		}
	}
}
