package bmi

// A Post is one message of PostSends or PostRecvs.
type Post struct {
	Tag  Tag
	Buf  []byte
	User any // returned with the completion

	Posted Posted // the result, as that of PostSend or PostRecv
}

// burstMax is how many messages are posted before the engine lock is released for others.
const burstMax = 64

// PostSends is PostSend of several messages to one address, in this order. It costs less than
// to post them one by one. n is how many were posted; if that is not all of them, err says why the
// next one was rejected. Later ones have not been looked at, and their Posted is as it was.
func (c *Context) PostSends(to Addr, posts []Post) (n int, err error) {
	return c.postBursts(KindSend, to, posts)
}

// PostRecvs is PostRecv of several messages from one address; see PostSends.
func (c *Context) PostRecvs(from Addr, posts []Post) (n int, err error) {
	return c.postBursts(KindRecv, from, posts)
}

func (c *Context) postBursts(kind Kind, a Addr, posts []Post) (n int, err error) {
	in, err := c.ep.check(a)
	for n < len(posts) && err == nil {
		part := posts[n:min(n+burstMax, len(posts))]
		var done int
		in.Lock()
		if l, lerr := in.laneLocked(c, a); lerr != nil {
			err = lerr
		} else if kind == KindRecv {
			done, err = l.recvBurstLocked(a, part)
		} else {
			done, err = l.sendBurstLocked(a, part)
		}
		in.unlock()
		n += done
	}
	return n, err
}

func (l *lane) sendBurstLocked(to Addr, posts []Post) (n int, err error) {
	in := l.in
	for i := range posts {
		p := &posts[i]
		size := len(p.Buf)
		if size > in.sizeMax[KindSend] {
			return i, in.misfit(KindSend, 0, size)
		}
		if size <= in.nowBytes && in.sender.SendNow(to.e.peer, KindSend, 0, p.Tag, p.Buf, nil) {
			if in.trace != nil {
				in.trace.sentNow(l.ctx, to, KindSend, 0, p.Tag, size)
			}
			p.Posted = Posted{Done: true, Size: size}
			continue
		}
		if l.free == nil {
			if err := l.growLocked(); err != nil {
				return i, err
			}
		}
		op := l.takeFreeLocked()
		op.fill(KindSend, 0, to, p.Tag, p.Buf, p.User)
		if in.trace != nil {
			in.trace.posting(op, to)
		}
		in.method.PostSend(op)
		p.Posted = op.postedLocked(nil)
	}
	return len(posts), nil
}

func (l *lane) recvBurstLocked(from Addr, posts []Post) (n int, err error) {
	for i := range posts {
		if l.free == nil {
			if err := l.growLocked(); err != nil {
				return i, err
			}
		}
		p, op := &posts[i], l.takeFreeLocked()
		op.fill(KindRecv, 0, from, p.Tag, p.Buf, p.User)
		if l.in.trace != nil {
			l.in.trace.posting(op, from)
		}
		l.in.method.PostRecv(op)
		p.Posted = op.postedLocked(nil)
	}
	return len(posts), nil
}
