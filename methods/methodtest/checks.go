package methodtest

import (
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// checks are the requirements for every random run: every message arrives once, whole and in order
// per (peer, tag); errors occur only after a cancel, a drop or an end. Lanes and worlds themselves
// check that completions come once and that buffers stay unchanged.
type checks struct {
	w       *world
	nodes   map[string]*node // the present ones
	streams map[stream]*traffic
	order   []stream // in order of first use, so that reports do not depend on map order
	broken  map[link]bool
	asked   map[*op]bool // operations that the test cancelled

	mu       sync.Mutex // guards the records of handlers
	unexp    []announced
	arrivals []arrival
}

// A stream is the unit of ordering: the messages of one tag between two
// endpoints.
type stream struct {
	link
	tag bmi.Tag
}

// traffic are the operations posted on a stream, in post order.
type traffic struct {
	sent  []message
	sends []*op
	recvs []*op
}

// announced is an unexpected message; its index is its tag.
type announced struct {
	link
	class bmi.Class
	m     message
	send  *op
}

// An arrival is an unexpected message that was taken.
type arrival struct {
	at   *node
	from bmi.Addr
	tag  bmi.Tag
	sum  uint64
	size int
	cls  bmi.Class
}

func newChecks(w *world, nodes map[string]*node) *checks {
	return &checks{
		w: w, nodes: nodes, streams: make(map[stream]*traffic), broken: make(map[link]bool), asked: make(map[*op]bool),
	}
}

func (c *checks) on(l link, tag bmi.Tag) *traffic {
	s := stream{l, tag}
	t := c.streams[s]
	if t == nil {
		t = &traffic{}
		c.streams[s] = t
		c.order = append(c.order, s)
	}
	return t
}

func (c *checks) sent(l link, tag bmi.Tag, m message, o *op) {
	t := c.on(l, tag)
	t.sent, t.sends = append(t.sent, m), append(t.sends, o)
}

func (c *checks) posted(l link, tag bmi.Tag, o *op) {
	t := c.on(l, tag)
	t.recvs = append(t.recvs, o)
	o.keepSum = true
	if !o.pending {
		o.noteSum()
	}
}

// announce assigns a tag to an unexpected message before it is sent, because it
// may arrive within the post.
func (c *checks) announce(l link, class bmi.Class, m message) bmi.Tag {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unexp = append(c.unexp, announced{link: l, class: class, m: m})
	return bmi.Tag(len(c.unexp) - 1)
}

func (c *checks) sentUnexpected(tag bmi.Tag, o *op) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unexp[tag].send = o
}

// given records that an operation without a counterpart was cancelled, which must
// not affect the connection.
func (c *checks) given(o *op) { c.asked[o] = true }

// cancelled records that an operation was cancelled while it may be in progress,
// which may end its connection.
func (c *checks) cancelled(o *op) {
	c.asked[o] = true
	for _, s := range c.order {
		t := c.streams[s]
		for _, p := range append(append([]*op{}, t.sends...), t.recvs...) {
			if p == o {
				c.disturbed(s.link)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.unexp {
		if u.send == o {
			c.disturbed(u.link)
		}
	}
}

// disturbed records that messages between two endpoints may be lost from now on.
func (c *checks) disturbed(l link) {
	c.broken[l], c.broken[link{l.to, l.from}] = true, true
}

// ended records that an endpoint ends.
func (c *checks) ended(n *node) {
	for name := range c.nodes {
		c.disturbed(link{n.name, name})
	}
}

// handler returns a handler that records messages arriving at n.
func (c *checks) handler(n *node) func(bmi.Message) {
	return func(m bmi.Message) { c.taken(n, m) }
}

func (c *checks) taken(n *node, m bmi.Message) {
	sum := sumOf([][]byte{m.Data}, len(m.Data))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrivals = append(c.arrivals, arrival{
		at: n, from: m.From, tag: m.Tag, sum: sum, size: len(m.Data), cls: m.Class,
	})
}

// unmatched is the number of missing receives of a stream.
func (c *checks) unmatched(s stream) int {
	t := c.streams[s]
	return max(0, len(t.sent)-len(t.recvs))
}

// mustEnd lists the operations that have a counterpart, on undisturbed links:
// they must complete by themselves.
func (c *checks) mustEnd() []*op {
	var out []*op
	for _, s := range c.order {
		if c.broken[s.link] {
			continue
		}
		t := c.streams[s]
		out = append(out, t.sends...)
		out = append(out, t.recvs[:min(len(t.recvs), len(t.sends))]...)
	}
	for _, u := range c.unexp {
		if !c.broken[u.link] && u.send != nil {
			out = append(out, u.send)
		}
	}
	return out
}

// allTaken reports whether every unexpected message that must arrive has arrived.
func (c *checks) allTaken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := make(map[bmi.Tag]bool)
	for _, a := range c.arrivals {
		seen[a.tag] = true
	}
	for i, u := range c.unexp {
		if !c.broken[u.link] && !seen[bmi.Tag(i)] {
			return false
		}
	}
	return true
}

func (c *checks) verify() {
	c.w.Helper()
	for _, s := range c.order {
		c.verifyStream(s, c.streams[s])
	}
	c.verifyUnexpected()
	c.verifyNothingKept()
}

// verifyStream assigns to each successful receive its message.
func (c *checks) verifyStream(s stream, t *traffic) {
	c.w.Helper()
	name := fmt.Sprintf("messages from %s to %s, tag %d", s.from, s.to, s.tag)
	whole := !c.broken[s.link]
	c.verifyErrors(name, whole, append(append([]*op{}, t.sends...), t.recvs...))
	var once sim.ExactlyOnce[uint64]
	var order sim.InOrder[stream]
	for _, m := range t.sent {
		once.Sent(m.id)
	}
	next := 0
	for _, r := range t.recvs {
		if r.pending || (r.c.Err != nil && !isOneOf(r.c.Err, []error{bmi.ErrTruncated})) {
			continue
		}
		i := t.find(r, next)
		if i < 0 {
			c.w.Errorf("%s: %v took %d bytes that nobody sent", name, r, r.c.Size)
			continue
		}
		assert.NoError(c.w, once.Delivered(t.sent[i].id), "%s: %v", name, r)
		assert.NoError(c.w, order.Delivered(s, uint64(i)), "%s: %v", name, r)
		next = max(next, i+1)
	}
	if whole {
		assert.NoError(c.w, once.Check(), name)
	}
}

// find is the index of the message that a receive took: the first possible one
// from next on, or else a wrong one. Taking the first leaves the most choices for
// later receives.
func (t *traffic) find(r *op, next int) int {
	for k := range t.sent {
		i := (next + k) % len(t.sent)
		m := t.sent[i]
		if m.size != r.c.Size {
			continue
		}
		if r.c.Err != nil || m.sum() == r.sum {
			return i
		}
	}
	return -1
}

// verifyErrors checks that every operation ended in an allowed way.
func (c *checks) verifyErrors(name string, whole bool, ops []*op) {
	c.w.Helper()
	for _, o := range ops {
		err := o.c.Err
		switch {
		case o.pending || err == nil:
			if o.pending && !o.l.n.gone {
				c.w.Errorf("%s: %v never completed", name, o)
			}
		case isOneOf(err, []error{bmi.ErrTruncated}):
			assert.True(c.w, o.recv && o.c.Size > o.mem.size, "%s: %v: %v (%d bytes)", name, o, err, o.c.Size)
		case isOneOf(err, []error{bmi.ErrCancelled}):
			assert.True(c.w, c.asked[o], "%s: %v: %v, but nobody cancelled it", name, o, err)
		default:
			assert.False(c.w, whole, "%s: %v failed, though nothing happened to the connection: %v", name, o, err)
			assert.True(c.w, isOneOf(err, disturbances), "%s: %v: %v", name, o, err)
		}
	}
}

// disturbances are the errors of operations whose connection or endpoint ended.
var disturbances = []error{
	bmi.ErrPeerFailed, bmi.ErrUnreachable, bmi.ErrRefused, bmi.ErrDropped, bmi.ErrClosed,
}

func (c *checks) verifyUnexpected() {
	c.w.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	type flow struct {
		link
		class bmi.Class
	}
	var once sim.ExactlyOnce[bmi.Tag]
	var order sim.InOrder[flow]
	for i, u := range c.unexp {
		once.Sent(bmi.Tag(i))
		if u.send != nil {
			name := fmt.Sprintf("unexpected messages from %s to %s", u.from, u.to)
			c.verifyErrors(name, !c.broken[u.link], []*op{u.send})
		}
	}
	for _, a := range c.arrivals {
		if int(a.tag) >= len(c.unexp) {
			c.w.Errorf("%s got an unexpected message with tag %d that nobody sent", a.at.name, a.tag)
			continue
		}
		u := c.unexp[a.tag]
		what := fmt.Sprintf("unexpected %v from %s to %s, class %d", u.m, u.from, u.to, u.class)
		assert.Equal(c.w, u.class, a.cls, what)
		assert.Equal(c.w, u.m.size, a.size, what)
		assert.Equal(c.w, u.m.sum(), a.sum, "%s: its bytes", what)
		assert.NoError(c.w, once.Delivered(a.tag), what)
		if !c.broken[u.link] {
			// Order does not span connections: messages of a broken connection
			// may be seen after those of the next one.
			assert.NoError(c.w, order.Delivered(flow{u.link, u.class}, uint64(a.tag)), what)
			assert.Equal(c.w, u.to, a.at.name, "%s: where it arrived", what)
			requireAddr(c.w, a.at.addr(c.nodes[u.from]), a.from, what+": its sender")
		}
	}
}

// verifyNothingKept checks that methods keep nothing when nothing is in progress.
func (c *checks) verifyNothingKept() {
	c.w.Helper()
	if len(c.broken) > 0 {
		return // the fate of early messages is not known
	}
	for _, n := range c.w.live() {
		if n.method() == nil {
			continue
		}
		n.until("the match tables of "+n.name+" are empty", func() bool {
			st := n.method()
			return st.PostedRecvs == 0 && st.EarlyMessages == 0
		})
	}
}

// sums identify contents; they are compared within one process only.
var sumSeed = maphash.MakeSeed()

// sumOf is the sum of the first size bytes of pieces.
func sumOf(pieces [][]byte, size int) uint64 {
	var h maphash.Hash
	h.SetSeed(sumSeed)
	for _, p := range pieces {
		p = p[:min(len(p), size)]
		_, _ = h.Write(p)
		size -= len(p)
	}
	return h.Sum64()
}

func (m message) sum() uint64 {
	mem := newMemory(m.size)
	m.fill(mem.pieces)
	return sumOf(mem.pieces, m.size)
}

// noteSum records the sum of a received message and releases its memory.
func (o *op) noteSum() {
	if o.c.Err != nil {
		return
	}
	o.sum = sumOf(o.mem.pieces, o.c.Size)
	o.mem.poison()
}
