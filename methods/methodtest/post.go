package methodtest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// The posts of a lane. Each makes and fills its own memory, has a description for
// failures, and must be accepted; try… return the error instead.

func (l *lane) send(to *node, tag bmi.Tag, m message) *op {
	l.t.Helper()
	return l.must(l.trySend(to, tag, m))
}

func (l *lane) trySend(to *node, tag bmi.Tag, m message) (*op, error) {
	l.t.Helper()
	return l.trySendMemory(to, tag, m, newMemory(m.size))
}

// sendMemory sends m from the given memory.
func (l *lane) sendMemory(to *node, tag bmi.Tag, m message, mem *memory) *op {
	l.t.Helper()
	return l.must(l.trySendMemory(to, tag, m, mem))
}

func (l *lane) trySendMemory(to *node, tag bmi.Tag, m message, mem *memory) (*op, error) {
	l.t.Helper()
	mem.write(m)
	o := &op{mem: mem, what: fmt.Sprintf("send from %s to %s, tag %d, %v", l.n.name, to.name, tag, m)}
	return l.post(o, l.n.addr(to), func(c *bmi.Context, to bmi.Addr, pieces [][]byte, user any) (bmi.Posted, error) {
		return c.PostSend(to, tag, pieces[0], user)
	})
}

// sendList sends m in pieces of the given lengths.
func (l *lane) sendList(to *node, tag bmi.Tag, m message, split []int) *op {
	l.t.Helper()
	return l.must(l.trySendList(to, tag, m, newMemory(split...)))
}

func (l *lane) trySendList(to *node, tag bmi.Tag, m message, mem *memory) (*op, error) {
	l.t.Helper()
	mem.write(m)
	o := &op{mem: mem, what: fmt.Sprintf("send from %s to %s, tag %d, %v in %s",
		l.n.name, to.name, tag, m, lengths(mem.pieces))}
	return l.post(o, l.n.addr(to), func(c *bmi.Context, to bmi.Addr, pieces [][]byte, user any) (bmi.Posted, error) {
		return c.PostSendList(to, tag, pieces, user)
	})
}

func (l *lane) recv(from *node, tag bmi.Tag, size int) *op {
	l.t.Helper()
	return l.recvMemory(from, tag, newMemory(size))
}

func (l *lane) recvMemory(from *node, tag bmi.Tag, mem *memory) *op {
	l.t.Helper()
	return l.must(l.tryRecvMemory(from, tag, mem))
}

func (l *lane) tryRecvMemory(from *node, tag bmi.Tag, mem *memory) (*op, error) {
	l.t.Helper()
	mem.poisoned = false
	o := &op{mem: mem, recv: true, what: fmt.Sprintf("receive at %s from %s, tag %d, room for %d bytes",
		l.n.name, from.name, tag, mem.size)}
	return l.post(o, l.n.addr(from), func(c *bmi.Context, from bmi.Addr, pieces [][]byte, user any) (bmi.Posted, error) {
		return c.PostRecv(from, tag, pieces[0], user)
	})
}

func (l *lane) recvList(from *node, tag bmi.Tag, split []int) *op {
	l.t.Helper()
	return l.must(l.tryRecvList(from, tag, newMemory(split...)))
}

func (l *lane) tryRecvList(from *node, tag bmi.Tag, mem *memory) (*op, error) {
	l.t.Helper()
	mem.poisoned = false
	o := &op{mem: mem, recv: true, what: fmt.Sprintf("receive at %s from %s, tag %d, room in %s",
		l.n.name, from.name, tag, lengths(mem.pieces))}
	return l.post(o, l.n.addr(from), func(c *bmi.Context, from bmi.Addr, pieces [][]byte, user any) (bmi.Posted, error) {
		return c.PostRecvList(from, tag, pieces, user)
	})
}

func (l *lane) sendUnexpected(to *node, class bmi.Class, tag bmi.Tag, m message) *op {
	l.t.Helper()
	return l.sendUnexpectedTo(l.n.addr(to), class, tag, m)
}

// sendUnexpectedTo is for an address that came with a message.
func (l *lane) sendUnexpectedTo(to bmi.Addr, class bmi.Class, tag bmi.Tag, m message) *op {
	l.t.Helper()
	return l.must(l.trySendUnexpected(to, class, tag, m))
}

func (l *lane) trySendUnexpected(to bmi.Addr, class bmi.Class, tag bmi.Tag, m message) (*op, error) {
	l.t.Helper()
	mem := newMemory(m.size)
	mem.write(m)
	o := &op{mem: mem, what: fmt.Sprintf("unexpected send from %s to %s, class %d, tag %d, %v",
		l.n.name, to, class, tag, m)}
	return l.post(o, to, func(c *bmi.Context, to bmi.Addr, pieces [][]byte, user any) (bmi.Posted, error) {
		return c.PostSendUnexpected(to, class, tag, pieces[0], user)
	})
}

func (l *lane) sendUnexpectedList(to *node, class bmi.Class, tag bmi.Tag, m message, split []int) *op {
	l.t.Helper()
	mem := newMemory(split...)
	mem.write(m)
	o := &op{mem: mem, what: fmt.Sprintf("unexpected send from %s to %s, class %d, tag %d, %v in %s",
		l.n.name, to.name, class, tag, m, lengths(mem.pieces))}
	return l.must(l.post(o, l.n.addr(to), func(c *bmi.Context, to bmi.Addr, pieces [][]byte, user any) (bmi.Posted, error) {
		return c.PostSendUnexpectedList(to, class, tag, pieces, user)
	}))
}

// sendBurst sends messages with one tag by PostSends.
func (l *lane) sendBurst(to *node, tag bmi.Tag, ms []message) []*op {
	l.t.Helper()
	ops := make([]*op, len(ms))
	for i, m := range ms {
		mem := newMemory(m.size)
		mem.write(m)
		ops[i] = &op{l: l, mem: mem, what: fmt.Sprintf("send %d of a burst from %s to %s, tag %d, %v", i, l.n.name, to.name, tag, m)}
	}
	l.burst(to, tag, ops, (*bmi.Context).PostSends)
	return ops
}

// recvBurst posts receives with one tag, each with room for size bytes, by PostRecvs.
func (l *lane) recvBurst(from *node, tag bmi.Tag, count, size int) []*op {
	l.t.Helper()
	ops := make([]*op, count)
	for i := range ops {
		ops[i] = &op{l: l, mem: newMemory(size), recv: true, what: fmt.Sprintf("receive %d of a burst at %s from %s, tag %d, room for %d bytes",
			i, l.n.name, from.name, tag, size)}
	}
	l.burst(from, tag, ops, (*bmi.Context).PostRecvs)
	return ops
}

// burst posts operations until the method has accepted all of them.
func (l *lane) burst(n *node, tag bmi.Tag, ops []*op, post func(c *bmi.Context, a bmi.Addr, posts []bmi.Post) (int, error)) {
	l.t.Helper()
	posts := make([]bmi.Post, len(ops))
	for i, o := range ops {
		posts[i] = bmi.Post{Tag: tag, Buf: o.mem.pieces[0], User: o}
	}
	deadline := time.Now().Add(l.w.s.timeout())
	for len(posts) > 0 {
		done, err := post(l.ctx, l.n.addr(n), posts)
		for i := range posts[:done] {
			l.accepted(ops[i], posts[i].Posted)
		}
		posts, ops = posts[done:], ops[done:]
		switch {
		case isAgain(err) && time.Now().Before(deadline):
			l.turn()
		case err != nil:
			l.must(nil, err)
		case len(posts) > 0:
			l.t.Errorf("%s: %d messages of a burst were not posted, and no error says why", l.n.name, len(posts))
			l.t.FailNow()
		}
	}
}

// must ends the test if a post was rejected.
func (l *lane) must(o *op, err error) *op {
	l.t.Helper()
	if err != nil {
		l.t.Errorf("%s: a post was rejected: %v", l.n.name, err)
		l.t.FailNow()
	}
	return o
}

// cancel cancels an operation. The operation may have completed without a Test
// call, so ErrUnknownOp is wrong only while it is pending.
func (l *lane) cancel(o *op) {
	l.t.Helper()
	if err := l.ctx.Cancel(o.id); err != nil {
		l.t.Errorf("cancel of a pending operation, %v: %v", o, err)
		l.t.FailNow()
	}
}

// exchange sends m from a to b and checks that it arrives.
func (w *world) exchange(a, b *node, tag bmi.Tag, m message) {
	w.Helper()
	r := b.recv(a, tag, m.size)
	s := a.send(b, tag, m)
	w.done(s, r)
	r.got(m)
}

// take takes count unexpected messages of any class.
func (n *node) take(count int) []bmi.Unexpected {
	n.t.Helper()
	out := make([]bmi.Unexpected, count)
	got := 0
	n.untilDone(fmt.Sprintf("%s takes %d unexpected messages", n.name, count), func() bool {
		k, err := n.ep.TestUnexpected(out[got:], n.patience())
		if err != nil {
			n.t.Errorf("TestUnexpected of %s: %v", n.name, err)
			n.t.FailNow()
		}
		got += k
		return got == count
	})
	return out
}

// isAgain reports back-pressure.
func isAgain(err error) bool { return errors.Is(err, bmi.ErrAgain) }

// isOneOf reports whether err is one of errs; without errs, whether it is an
// error at all.
func isOneOf(err error, errs []error) bool {
	if len(errs) == 0 {
		return err != nil
	}
	for _, want := range errs {
		if errors.Is(err, want) {
			return true
		}
	}
	return false
}

func oneOf(errs []error) string {
	if len(errs) == 0 {
		return "an error"
	}
	var texts []string
	for _, err := range errs {
		texts = append(texts, fmt.Sprintf("%q", err))
	}
	return strings.Join(texts, " or ")
}

// lengths describes pieces, abbreviated if there are many.
func lengths(pieces [][]byte) string {
	if len(pieces) > 12 {
		return fmt.Sprintf("%d pieces", len(pieces))
	}
	var ns []int
	for _, p := range pieces {
		ns = append(ns, len(p))
	}
	return fmt.Sprintf("pieces of %v bytes", ns)
}

func ids(ops ...*op) []bmi.OpID {
	var out []bmi.OpID
	for _, o := range ops {
		if o.pending {
			out = append(out, o.id)
		}
	}
	return out
}
