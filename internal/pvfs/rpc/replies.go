package rpc

import (
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/machine"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
)

// replies sends responses. Most are complete when their post returns. The others wait here, in the order of their posts, for
// clients that are slow to take them. They do not occupy a worker.
type replies struct {
	s        *Server
	ctx      *bmi.Context
	bytesMax int

	mu      sync.Mutex
	free    []*reply
	waiting map[*reply]struct{}
	order   []*reply // oldest first; completed ones may still be in it
	live    int      // those not given up
	bytes   int      // of the live ones; beyond bytesMax, the oldest are given up
	closed  bool
	more    chan struct{} // capacity 1; a value means that a response waits
	ended   chan struct{}
}

// A reply is a response with its buffer.
type reply struct {
	b        []byte
	id       bmi.OpID
	deadline time.Time
	over     bool
}

func (r *replies) open(s *Server) error {
	ctx, err := s.ep.OpenContext()
	if err != nil {
		return err
	}
	r.s, r.ctx = s, ctx
	r.bytesMax = machine.Share(repliesParts, repliesBytesMin, repliesBytesMax)
	r.waiting = make(map[*reply]struct{})
	r.more, r.ended = make(chan struct{}, 1), make(chan struct{})
	go r.reap()
	return nil
}

// close waits briefly for the remaining responses, then gives them up.
func (r *replies) close() {
	r.mu.Lock()
	r.closed = true
	last := after(lastReplies)
	for b := range r.waiting {
		b.deadline = last
	}
	r.mu.Unlock()
	r.note()
	<-r.ended
	_ = r.ctx.Close() // nothing is left, or the endpoint is closed
}

func (r *replies) note() {
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// buffer returns an empty buffer.
func (r *replies) buffer() *reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.free); n > 0 {
		b := r.free[n-1]
		r.free = r.free[:n-1]
		return b
	}
	return &reply{b: make([]byte, 0, 512)}
}

func (r *replies) giveLocked(b *reply) {
	if cap(b.b) <= replyKeptBytesMax && len(r.free) < replyBuffersKept {
		b.b, b.over, b.id = b.b[:0], false, 0
		r.free = append(r.free, b)
	}
}

// send posts a response. If it completes before it is in order, doneLocked has marked it as over.
func (r *replies) send(to bmi.Addr, tag bmi.Tag, b *reply) {
	posted, err := r.ctx.PostSend(to, tag, b.b, b)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || posted.Done {
		if err != nil {
			r.s.opt.Refusals.Add(refusal.Unanswered)
			r.s.opt.Log.Debug("pvfs: a response was not sent", "peer", to.String(), "err", err)
		}
		r.giveLocked(b)
		return
	}
	if b.over { // reap has already taken its completion
		r.giveLocked(b)
		return
	}
	b.id, b.deadline = posted.Op, after(r.s.opt.Timeout)
	r.waiting[b] = struct{}{}
	r.order = append(r.order, b)
	r.live++
	r.bytes += len(b.b)
	r.note()
	for _, old := range r.order {
		if r.live <= repliesMax && r.bytes <= r.bytesMax {
			break
		}
		r.giveUpLocked(old)
	}
}

// giveUpLocked cancels a response that waits. It completes soon.
func (r *replies) giveUpLocked(b *reply) {
	if id := b.id; id != 0 && !b.over {
		b.id = 0
		r.live--
		r.bytes -= len(b.b)
		_ = r.ctx.Cancel(id)
	}
}

// reap is the goroutine that takes completions while responses wait.
func (r *replies) reap() {
	defer close(r.ended)
	out := make([]bmi.Completion, 16)
	for {
		r.mu.Lock()
		wait, over := r.expireLocked(), r.closed && len(r.waiting) == 0
		r.mu.Unlock()
		if over {
			return
		}
		if wait == 0 {
			<-r.more
			continue
		}
		n, err := r.ctx.TestContext(out, wait)
		if err != nil {
			return
		}
		r.mu.Lock()
		for i := range out[:n] {
			r.doneLocked(&out[i])
			out[i] = bmi.Completion{}
		}
		r.mu.Unlock()
	}
}

func (r *replies) doneLocked(c *bmi.Completion) {
	b := c.User.(*reply)
	if c.Err != nil {
		r.s.opt.Refusals.Add(refusal.Unanswered)
		r.s.opt.Log.Debug("pvfs: a response did not arrive", "err", c.Err)
	}
	if _, ok := r.waiting[b]; !ok {
		b.over = true // its post has not returned yet
		return
	}
	delete(r.waiting, b)
	if b.id != 0 {
		r.live--
		r.bytes -= len(b.b)
	}
	b.over = true
}

// expireLocked cancels the responses that have waited too long. It returns when to check again; 0 if none wait.
func (r *replies) expireLocked() time.Duration {
	for len(r.order) > 0 && r.order[0].over {
		r.giveLocked(r.order[0])
		r.order[0] = nil
		r.order = r.order[1:]
	}
	if len(r.order) == 0 {
		return 0
	}
	now := time.Now()
	for _, b := range r.order {
		if b.over || b.id == 0 {
			continue
		}
		if b.deadline.IsZero() {
			break
		}
		if left := b.deadline.Sub(now); left > 0 {
			return min(left, lookAgain)
		}
		r.giveUpLocked(b)
	}
	return lookAgain
}
