//go:build linux

package hosts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A Talk is a number of messages each way between a node and its partners. The bytes of a message depend on its
// sender, its receiver and its number.
type Talk struct {
	Me       int
	Partners []Partner
	Seed     uint64
	// Tag is the first of the tags of the messages. No other Talk may use these tags: messages of a failed Talk
	// may still arrive under them.
	Tag bmi.Tag
	// Send and Recv are the sizes of messages each way, in turn.
	Send, Recv []int
	// Count is the number of messages each way; Forever: until something fails, or until Limit ends an Open talk.
	Count int
	Open  bool
	// Window is how many are posted at a time, each way; with 1, both sides wait for
	// each other's message before the next.
	Window int
	// Within bounds everything.
	Within time.Duration
}

// A Partner is another node. One with an address is greeted; one without an address,
// and one that Greets, is waited for.
type Partner struct {
	Index  int
	Addr   string
	Greets bool
}

// Forever is a Count that no test reaches.
const Forever = 1 << 40

// Told is how a Talk went.
type Told struct {
	// Received counts messages whose bytes were right.
	Received int
	// Failed counts operations that ended with an error, and Err is the first.
	Failed int
	Err    string
	// Slow is the time from the first failure until no send was pending.
	Slow time.Duration
}

// patience is how long a send may be pending after a failure: a little longer than a new attempt to connect takes
// to time out.
const patience = 6 * time.Second

// tags is the number of tags that a partner's messages use.
const tags = 4

// talk is a Talk under way.
type talk struct {
	Talk
	n        *Node
	c        *bmi.Context
	partners []*partner
	pending  [2]map[*op]bool // sends, receives
	until    time.Time
	failedAt time.Time
	told     *Told
	out      [64]bmi.Completion
}

type partner struct {
	index      int
	addr       bmi.Addr
	sent, got  int // completed
	sends, rcv int // posted
}

type op struct {
	p    *partner
	k    int
	recv bool
	id   bmi.OpID
	buf  []byte
	done bool
}

// Talk runs a Talk. An error means a fault that no behaviour of the network excuses.
func (n *Node) Talk(t Talk, told *Told) (err error) {
	x := &talk{Talk: t, n: n, told: told, until: time.Now().Add(t.Within)}
	x.pending = [2]map[*op]bool{{}, {}}
	if x.c, err = n.ep.OpenContext(); err != nil {
		return err
	}
	if err := x.meet(); err != nil {
		return err
	}
	for _, p := range x.partners {
		x.post(p)
	}
	for x.Open || len(x.pending[0])+len(x.pending[1]) > 0 {
		if err := x.turn(); err != nil {
			return err
		}
	}
	if k, err := x.c.TestContext(x.out[:], 0); k > 0 || err != nil {
		return fmt.Errorf("%d completions of nothing: %w", k, err)
	}
	if left := n.ep.Stats().Endpoint.QueuedUnexpected; left > 0 {
		return fmt.Errorf("%d messages that nobody sent", left)
	}
	return x.c.Close()
}

// meet finds the partners.
func (x *talk) meet() error {
	known := map[int]bmi.Addr{}
	for _, p := range x.Partners {
		if p.Addr != "" {
			addr, err := x.n.ep.Lookup(p.Addr)
			if err == nil {
				err = x.n.greet(x.c, &x.Talk, addr)
			}
			if err != nil {
				return fmt.Errorf("greet %s: %w", p.Addr, err)
			}
			known[p.Index] = addr
		}
	}
	for _, p := range x.Partners {
		if p.Addr != "" && !p.Greets {
			continue
		}
		index, from, err := x.n.greeted(x.until)
		if err != nil {
			return fmt.Errorf("wait for a greeting: %w", err)
		}
		if addr := known[index]; !addr.IsZero() && addr != from {
			return fmt.Errorf("%s was greeted, and is %s now", addr, from)
		}
		known[index] = from
	}
	for _, p := range x.Partners {
		if known[p.Index].IsZero() {
			return fmt.Errorf("node %d has not greeted", p.Index)
		}
		x.partners = append(x.partners, &partner{index: p.Index, addr: known[p.Index]})
	}
	return nil
}

// post posts what the window has room for.
func (x *talk) post(p *partner) {
	for x.failedAt.IsZero() {
		end := min(x.Count, min(p.sent, p.got)+x.Window)
		switch {
		case p.rcv < end:
			p.rcv++
			x.begin(&op{p: p, k: p.rcv - 1, recv: true, buf: make([]byte, x.Recv[(p.rcv-1)%len(x.Recv)])})
		case p.sends < end:
			p.sends++
			o := &op{p: p, k: p.sends - 1, buf: make([]byte, x.Send[(p.sends-1)%len(x.Send)])}
			x.fill(o.buf, x.Me, p.index, o.k)
			x.begin(o)
		default:
			return
		}
	}
}

func (x *talk) begin(o *op) {
	post, tag := x.c.PostSend, x.Tag+bmi.Tag(o.k%tags)
	if o.recv {
		post = x.c.PostRecv
	}
	posted, err := post(o.p.addr, tag, o.buf, o)
	switch {
	case err != nil:
		x.told.Failed++
		x.failed(err)
	case posted.Done:
		x.fail(x.ended(o, posted.Size))
	default:
		o.id = posted.Op
		x.pending[o.kind()][o] = true
	}
}

func (o *op) kind() int {
	if o.recv {
		return 1
	}
	return 0
}

// bound takes a limit, if there is one. After a limit of 0 the talk posts no more, and waits for the final count.
func (x *talk) bound() {
	select {
	case l := <-x.n.limit:
		posted := 0
		for _, p := range x.partners {
			posted = max(posted, p.sends, p.rcv)
		}
		x.Count, x.Open = max(l.count, posted), l.count == 0
		for _, p := range x.partners {
			x.post(p)
		}
		l.posted <- posted
	default:
	}
}

// turn takes completions.
func (x *talk) turn() error {
	if x.Open {
		x.bound()
	}
	k, err := x.c.TestContext(x.out[:], 20*time.Millisecond)
	if err != nil {
		return err
	}
	for _, c := range x.out[:k] {
		// This comes first: an operation posted after a failure would go to the next process at that address.
		if c.Err != nil && x.failedAt.IsZero() {
			x.failed(c.Err)
		}
	}
	for _, c := range x.out[:k] {
		o := c.User.(*op)
		if o.done {
			return fmt.Errorf("an operation completed twice: %+v", c)
		}
		o.done = true
		delete(x.pending[o.kind()], o)
		switch {
		case c.Err == nil:
			if err := x.ended(o, c.Size); err != nil {
				return err
			}
			x.post(o.p)
		case !errors.Is(c.Err, bmi.ErrCancelled):
			x.told.Failed++
		}
	}
	if time.Now().After(x.until) {
		return fmt.Errorf("%d sends and %d receives hang, %d messages came, %+v", len(x.pending[0]), len(x.pending[1]), x.told.Received, x.n.ep.Stats())
	}
	x.giveUp()
	return nil
}

// giveUp cancels the receives once a failure has ended all sends, for they may wait for
// whoever comes next at that address; and after a while sends as well, because one
// that was posted just after the failure does so, too.
func (x *talk) giveUp() {
	if x.failedAt.IsZero() || len(x.pending[0]) > 0 && time.Since(x.failedAt) < patience {
		return
	}
	if x.told.Slow == 0 {
		x.told.Slow = time.Since(x.failedAt)
	}
	for _, pending := range x.pending {
		for o := range pending {
			_ = x.c.Cancel(o.id) // fails if the operation has completed meanwhile
		}
	}
}

func (x *talk) failed(err error) {
	if x.failedAt.IsZero() {
		x.failedAt = time.Now()
		x.told.Err = err.Error()
	}
}

// fail ends the talk because of bytes that are wrong.
func (x *talk) fail(err error) {
	if err != nil {
		panic(err) // the process ends, and the test with it
	}
}

// ended compares a received message with the one that was sent.
func (x *talk) ended(o *op, size int) error {
	if !o.recv {
		o.p.sent++
		return nil
	}
	want := make([]byte, len(o.buf))
	x.fill(want, o.p.index, x.Me, o.k)
	if size != len(want) || !bytes.Equal(want, o.buf) {
		return fmt.Errorf("message %d from %d of %d bytes is not what was sent, seed %d", o.k, o.p.index, size, x.Seed)
	}
	o.p.got++
	x.told.Received++
	x.n.moved.Add(1)
	return nil
}

// fill makes the bytes of a message.
func (x *talk) fill(b []byte, from, to, k int) {
	rng := rand.NewPCG(x.Seed, uint64(from)<<48|uint64(to)<<40|uint64(k))
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, rng.Uint64())
	}
	for i := range b {
		b[i] = byte(rng.Uint64())
	}
}
