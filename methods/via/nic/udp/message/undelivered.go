package message

// Undelivered reports whether the other side has not acknowledged all the messages
// that were sent to it.
func (q *Queue) Undelivered() bool { return q.unacked.head != nil }
