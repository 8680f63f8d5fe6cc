package methodtest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A lane follows the operations posted in one context. It belongs to one goroutine, and
// reports to its T.
type lane struct {
	t   T
	w   *world
	n   *node
	ctx *bmi.Context
	ops []*op
	out [16]bmi.Completion

	closed    bool // the test closed the context
	impatient bool // ErrAgain is returned instead of retried
}

// An op is one operation that the method accepted.
type op struct {
	l    *lane
	what string
	id   bmi.OpID
	mem  *memory
	recv bool

	immediate bool // completed within the post
	pending   bool
	c         bmi.Completion

	keepSum bool // record the sum of the received message, and release the memory at once
	sum     uint64
}

// newLane opens a context for the goroutine that reports to t.
func (n *node) newLane(t T) *lane {
	t.Helper()
	ctx, err := n.ep.OpenContext()
	require.NoError(t, err, "open a context of %s", n.name)
	l := &lane{t: t, w: n.w, n: n, ctx: ctx}
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	n.lanes = append(n.lanes, l)
	return l
}

// A poster posts o and returns the Posted; there is one for each call of bmi.
type poster func(c *bmi.Context, to bmi.Addr, pieces [][]byte, user any) (bmi.Posted, error)

// post posts an operation until the method accepts or finally rejects it. After ErrAgain it
// tests and tries again.
func (l *lane) post(o *op, to bmi.Addr, post poster) (*op, error) {
	l.t.Helper()
	o.l = l
	deadline := time.Now().Add(l.w.s.timeout())
	for {
		p, err := post(l.ctx, to, o.mem.pieces, o)
		if isAgain(err) && !l.impatient && time.Now().Before(deadline) {
			l.turn()
			continue
		}
		if err != nil {
			return nil, err
		}
		l.accepted(o, p)
		return o, nil
	}
}

// accepted records the result of a successful post and checks it.
func (l *lane) accepted(o *op, p bmi.Posted) {
	l.t.Helper()
	l.ops = append(l.ops, o)
	if !p.Done {
		if p.Op == 0 {
			l.t.Errorf("%s: a post that is not done returned no operation id", o.what)
		}
		o.id, o.pending = p.Op, true
		return
	}
	if p.Op != 0 {
		l.t.Errorf("%s: a post that is done returned the operation id %d as well", o.what, p.Op)
	}
	if !o.recv && p.Size != o.mem.size {
		l.t.Errorf("%s: done with size %d, posted %d", o.what, p.Size, o.mem.size)
	}
	o.immediate = true
	o.end(bmi.Completion{Size: p.Size, User: o})
}

// end records that the operation is over: its memory is ours again.
func (o *op) end(c bmi.Completion) {
	o.pending = false
	o.c = c
	switch {
	case !o.recv || c.Err != nil:
		o.mem.poison()
	case o.keepSum:
		o.noteSum()
	}
}

// completed checks a completion against the known operation and records it.
func (l *lane) completed(c bmi.Completion) {
	l.t.Helper()
	o, ok := c.User.(*op)
	switch {
	case !ok || o == nil:
		l.t.Errorf("a completion (op %d, error %v, size %d) of %s carries the user value %v, which no post gave",
			c.Op, c.Err, c.Size, l.n.name, c.User)
	case o.l != l:
		l.t.Errorf("%s completed in another context than it was posted in", o.what)
	case o.immediate:
		l.t.Errorf("%s was done within the post and completed again (op %d, error %v)", o.what, c.Op, c.Err)
	case !o.pending:
		l.t.Errorf("%s completed a second time (op %d, error %v; first with error %v)", o.what, c.Op, c.Err, o.c.Err)
	default:
		if c.Op != o.id {
			l.t.Errorf("%s was posted as op %d and completed as op %d", o.what, o.id, c.Op)
		}
		if c.Err == nil && !o.recv && c.Size != o.mem.size {
			l.t.Errorf("%s completed with size %d, posted %d", o.what, c.Size, o.mem.size)
		}
		if c.Err == nil && c.Size > o.mem.size {
			l.t.Errorf("%s completed without error and with size %d, more than its %d bytes", o.what, c.Size, o.mem.size)
		}
		o.end(c)
	}
}

// collect takes completions, and waits up to wait for the first. Neither collect nor step
// calls testify or testing while all is well: simulated tests call them millions of times, and
// those packages inspect the call stack each time.
func (l *lane) collect(wait time.Duration) int {
	n, err := l.ctx.TestContext(l.out[:], wait)
	if err != nil {
		require.NoError(l.t, err, "TestContext of %s", l.n.name)
	}
	for _, c := range l.out[:n] {
		l.completed(c)
	}
	return n
}

// slice bounds one blocking call within a longer wait, so that a lost wake-up fails the tests
// of wake-ups and not every test.
const slice = 20 * time.Millisecond

// turn makes progress: it blocks briefly on this lane, or advances simulated time.
func (l *lane) turn() {
	if l.collect(l.patience()) == 0 {
		l.w.step()
	}
}

// patience is how long one call may block.
func (l *lane) patience() time.Duration {
	if l.w.s.Step != nil {
		return 0
	}
	return slice
}

// pollsPerStep is how often every endpoint is polled before simulated time advances, so that
// work left by one poll does not look late.
const pollsPerStep = 3

// step polls every endpoint, without taking completions, and advances simulated time. In real
// time endpoints run by themselves.
func (w *world) step() {
	if w.s.Step == nil {
		return
	}
	live := w.live()
	for range pollsPerStep {
		for _, n := range live {
			if _, err := n.pump.TestContext(w.none[:], 0); err != nil {
				require.NoError(w, err, "poll %s", n.name)
			}
		}
	}
	w.s.Step()
}

// until waits for cond, described by what, while operations of the lane complete.
func (l *lane) until(what string, cond func() bool) {
	l.t.Helper()
	l.repeat(what, cond, l.turn)
}

// untilDone repeats f, which makes its own call with l.patience(), until it returns true.
func (l *lane) untilDone(what string, f func() bool) {
	l.t.Helper()
	l.repeat(what, f, l.w.step)
}

// stepsAWhile is the length of aWhile in events of simulated time.
const stepsAWhile = 3000

// whileMin is the length of the first aWhile, in real time. Each further one is twice as long,
// so that a busy machine gets enough time in the end, while a lost message costs little.
const whileMin = 100 * time.Millisecond

// aWhile waits for a condition that may never be met. In simulated time it waits for a number
// of steps, so that runs are repeatable. tries is the number of earlier attempts.
func (l *lane) aWhile(tries int, cond func() bool) {
	l.t.Helper()
	deadline := time.Now().Add(min(whileMin<<min(tries, 10), l.w.prompt()/10))
	for steps := 0; !cond(); steps++ {
		if l.w.s.Step != nil && steps == stepsAWhile || l.w.s.Step == nil && time.Now().After(deadline) {
			return
		}
		l.turn()
	}
}

func (l *lane) repeat(what string, cond func() bool, between func()) {
	l.t.Helper()
	deadline := time.Now().Add(l.w.s.timeout())
	for !cond() {
		if time.Now().After(deadline) {
			l.w.overdue(l.t, what)
		}
		between()
	}
}

// wait waits until the operations have completed, with any result.
func (w *world) wait(ops ...*op) {
	w.Helper()
	for _, o := range ops {
		o.l.until(o.what, func() bool { return !o.pending })
	}
}

// done waits for the operations and requires that they succeed.
func (w *world) done(ops ...*op) {
	w.Helper()
	w.wait(ops...)
	for _, o := range ops {
		if o.c.Err != nil {
			o.l.t.Errorf("%s failed: %v", o.what, o.c.Err)
			o.l.t.FailNow()
		}
	}
}

// failed waits for the operations and requires that each ends with one of the
// errors; without errs, with any.
func (w *world) failed(ops []*op, errs ...error) {
	w.Helper()
	w.wait(ops...)
	for _, o := range ops {
		if !isOneOf(o.c.Err, errs) {
			o.l.t.Errorf("%s ended with error %v, want %s", o.what, o.c.Err, oneOf(errs))
			o.l.t.FailNow()
		}
	}
}

// got requires that a successful receive holds exactly m, and releases its memory: any later
// write to it is detected.
func (o *op) got(m message) {
	t := o.l.t
	t.Helper()
	o.l.w.done(o)
	if o.c.Size != m.size {
		t.Errorf("%s got %d bytes, want %v", o.what, o.c.Size, m)
		t.FailNow()
	}
	if at := m.wrongAt(o.mem.pieces); at >= 0 {
		t.Errorf("%s did not get %v: byte %d is wrong", o.what, m, at)
		t.FailNow()
	}
	o.mem.poison()
}

func (o *op) String() string {
	return fmt.Sprintf("%s (op %d)", o.what, o.id)
}
