package message

// Undelivered reports whether some sent messages have not been acknowledged.
func (q *Queue) Undelivered() bool { return q.unacked.Len() > 0 }
