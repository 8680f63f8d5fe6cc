package bmi

import "fmt"

// PostSend sends an expected message. It ends in one of three ways: rejected (an error;
// nothing is lent), done now (Posted.Done), or pending until a Test call returns Posted.Op.
// While it is pending, buf must not be changed. user is returned with the completion.
func (c *Context) PostSend(to Addr, tag Tag, buf []byte, user any) (Posted, error) {
	return c.postOne(KindSend, 0, to, tag, buf, user, nil)
}

// PostRecv receives the next expected message with this tag from this address. Messages of
// one address and tag match receives in the order of posting on both sides. A message longer
// than buf completes with ErrTruncated. While the receive is pending, buf belongs to the
// endpoint.
func (c *Context) PostRecv(from Addr, tag Tag, buf []byte, user any) (Posted, error) {
	return c.postOne(KindRecv, 0, from, tag, buf, user, nil)
}

// PostSendUnexpected sends a message for which no receive is posted. The other endpoint
// takes it with TestUnexpected or in a handler.
func (c *Context) PostSendUnexpected(to Addr, class Class, tag Tag, buf []byte, user any) (Posted, error) {
	return c.postOne(KindSendUnexpected, class, to, tag, buf, user, nil)
}

// SendUnexpectedNow sends head and body as one small unexpected message, if this can be done
// within the call; that is cheaper than to post it. If it returns false nothing has
// happened, and the caller must post the message. The reason may be an error, an earlier
// message that waits, or a method that cannot do it. In either case head and body are the
// caller's again.
func (c *Context) SendUnexpectedNow(to Addr, class Class, tag Tag, head, body []byte) bool {
	if to.e == nil || to.e.in == nil {
		return false
	}
	in := to.e.in
	if !in.takesNow(c, class, len(head)+len(body)) {
		return false
	}
	in.Lock()
	sent := in.sendNowLocked(c, to, KindSendUnexpected, class, tag, head, body)
	in.unlock()
	return sent
}

// takesNow reports whether a message of a size, in bytes, may be sent without an operation.
func (in *instance) takesNow(c *Context, class Class, size int) bool {
	return in.ep == c.ep && size <= in.nowBytes && (class == 0 || in.info.Classes)
}

// sendNowLocked sends a message without an operation, if that is possible now.
func (in *instance) sendNowLocked(c *Context, to Addr, kind Kind, class Class, tag Tag, head, body []byte) bool {
	l := in.existingLocked(c) // nil before the first post
	if l == nil || !in.mayPost(l, to) || !in.sender.SendNow(to.e.peer, kind, class, tag, head, body) {
		return false
	}
	if in.trace != nil {
		in.trace.sentNow(c, to, kind, class, tag, len(head)+len(body))
	}
	return true
}

// PostSendList is PostSend of one message gathered from pieces. The list itself may be used
// again at once, but not the memory that it points to.
func (c *Context) PostSendList(to Addr, tag Tag, bufs [][]byte, user any) (Posted, error) {
	return c.postList(KindSend, 0, to, tag, bufs, user)
}

// PostRecvList is PostRecv of one message scattered over pieces.
func (c *Context) PostRecvList(from Addr, tag Tag, bufs [][]byte, user any) (Posted, error) {
	return c.postList(KindRecv, 0, from, tag, bufs, user)
}

// PostSendUnexpectedList is PostSendUnexpected of one message gathered from
// pieces.
func (c *Context) PostSendUnexpectedList(to Addr, class Class, tag Tag, bufs [][]byte, user any) (Posted, error) {
	return c.postList(KindSendUnexpected, class, to, tag, bufs, user)
}

// postOne posts a message in one piece. w is the waiter of a blocking helper, or nil.
func (c *Context) postOne(kind Kind, class Class, a Addr, tag Tag, buf []byte, user any, w *call) (Posted, error) {
	in, err := c.ep.check(a)
	if err != nil {
		return Posted{}, err
	}
	if err := in.fits(kind, class, len(buf)); err != nil {
		return Posted{}, err
	}
	in.Lock()
	if kind != KindRecv && len(buf) <= in.nowBytes && in.sendNowLocked(c, a, kind, class, tag, buf, nil) {
		in.unlock()
		return Posted{Done: true, Size: len(buf)}, nil
	}
	op, err := in.acquireLocked(c, a)
	if err != nil {
		in.unlock()
		return Posted{}, err
	}
	op.fill(kind, class, a, tag, buf, user)
	if w != nil {
		op.call, w.op, w.in = w, op, in
	}
	posted := in.postLocked(op, a, w)
	in.unlock()
	return posted, nil
}

// fill describes a message in one piece.
func (op *Op) fill(kind Kind, class Class, a Addr, tag Tag, buf []byte, user any) {
	op.Kind, op.Class, op.Tag, op.Peer = kind, class, tag, a.e.peer
	op.one[0] = buf
	op.Bufs, op.Size = op.one[:], len(buf)
	op.user = user
}

// postList posts a message in several pieces.
func (c *Context) postList(kind Kind, class Class, a Addr, tag Tag, bufs [][]byte, user any) (Posted, error) {
	in, err := c.ep.check(a)
	if err != nil {
		return Posted{}, err
	}
	if len(bufs) == 0 || len(bufs) > in.info.MaxPieces {
		return Posted{}, fmt.Errorf("%w: a list of %d pieces, %s takes 1 to %d", ErrInvalid, len(bufs), in.info.Name, in.info.MaxPieces)
	}
	size := 0
	for _, b := range bufs {
		size += len(b)
	}
	if err := in.fits(kind, class, size); err != nil {
		return Posted{}, err
	}
	in.Lock()
	op, err := in.acquireLocked(c, a)
	if err != nil {
		in.unlock()
		return Posted{}, err
	}
	op.Kind, op.Class, op.Tag, op.Peer = kind, class, tag, a.e.peer
	op.list = append(op.list[:0], bufs...)
	op.Bufs, op.Size = op.list, size
	op.user = user
	posted := in.postLocked(op, a, nil)
	in.unlock()
	return posted, nil
}

// fits checks a message against the method's limits. A receive may offer more
// room than the largest message needs.
func (in *instance) fits(kind Kind, class Class, size int) error {
	if kind == KindRecv || size <= in.sizeMax[kind] && (class == 0 || in.info.Classes) {
		return nil
	}
	return in.misfit(kind, class, size)
}

// misfit says why the method does not take a message.
func (in *instance) misfit(kind Kind, class Class, size int) error {
	switch {
	case class != 0 && !in.info.Classes:
		return fmt.Errorf("%w: %s has no classes of unexpected messages but 0", ErrNotSupported, in.info.Name)
	case kind == KindSend:
		return fmt.Errorf("%w: %d bytes, %s takes %d, send it in parts", ErrTooLarge, size, in.info.Name, in.info.MaxExpectedSize)
	}
	return fmt.Errorf("%w: %d bytes unexpected, %s takes %d, send the rest as expected messages",
		ErrTooLarge, size, in.info.Name, in.info.MaxUnexpectedSize)
}

// acquireLocked takes a free operation for a message to or from a.
func (in *instance) acquireLocked(c *Context, a Addr) (*Op, error) {
	l := in.existingLocked(c)
	if l == nil || !in.mayPost(l, a) {
		var err error
		if l, err = in.laneLocked(c, a); err != nil {
			return nil, err
		}
	}
	if l.free == nil {
		if err := l.growLocked(); err != nil {
			return nil, err
		}
	}
	return l.takeFreeLocked(), nil
}

// mayPost reports whether operations with a may be posted in a lane. It could be otherwise while the caller waited for the lock.
func (in *instance) mayPost(l *lane, a Addr) bool {
	return !l.closed && !in.closing && !a.e.dropped.Load()
}

// postLocked hands the operation to the method.
func (in *instance) postLocked(op *Op, a Addr, w *call) Posted {
	if in.trace != nil {
		in.trace.posting(op, a)
	}
	if op.Kind == KindRecv {
		in.method.PostRecv(op)
	} else {
		in.method.PostSend(op)
	}
	return op.postedLocked(w)
}

// postedLocked is the result of a post, once the method has taken the operation.
func (op *Op) postedLocked(w *call) Posted {
	if op.state == opPosting {
		op.state = opPosted
		if op.span.id != 0 {
			op.lane.in.trace.posted(op)
		}
		return Posted{Op: op.id}
	}
	return op.endedLocked(w)
}

// endedLocked is the result of a post within which the operation has ended.
func (op *Op) endedLocked(w *call) Posted {
	switch {
	case w != nil && w.done:
		return Posted{} // it failed, and is free again
	case op.state == opDone:
		var result Completion
		op.lane.releaseLocked(op, &result)
		return Posted{Done: true, Size: result.Size}
	}
	return Posted{Op: op.id} // it failed, and a Test call will say so
}
