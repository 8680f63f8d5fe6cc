package methodtest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// Random operations: everything at once, chosen by a seed and checked by
// checks.go. -sim.seeds is the number of seeds, -sim.seed a single one.
var randomTests = Tests{
	{"RandomOperations", true, testRandomOperations},
	{"RandomCancels", true, testRandomCancels},
	{"RandomEndings", false, testRandomEndings},
}

// mischief is what a random run does besides sending and receiving.
type mischief struct {
	cancels bool // cancels operations
	endings bool // drops addresses, closes and crashes endpoints
}

func testRandomOperations(t T, s *Subject) { randomRuns(t, s, mischief{}) }
func testRandomCancels(t T, s *Subject)    { randomRuns(t, s, mischief{cancels: true}) }
func testRandomEndings(t T, s *Subject)    { randomRuns(t, s, mischief{cancels: true, endings: true}) }

func randomRuns(t T, s *Subject, m mischief) {
	t.Helper()
	for _, seed := range seeds(t, s) {
		w := newWorld(t, s)
		newChaos(w, seed, m).run()
		w.end()
		if t.Failed() {
			t.Logf("replay with -run '%s$' -sim.seed=%d", t.Name(), seed)
			t.FailNow()
		}
	}
}

// seeds are the subject's. Without those, they are the seeds of the command line
// under go test, and a few fixed ones elsewhere.
func seeds(t T, s *Subject) []uint64 {
	if s.Seeds != nil {
		return s.Seeds
	}
	if tb, ok := t.(testing.TB); ok {
		return sim.Seeds(tb)
	}
	return []uint64{1, 2, 3, 4, 5}
}

// Bounds of a random run.
const (
	chaosSteps    = 300
	chaosTags     = 3
	chaosEarlyMax = 12 // messages per pair of endpoints without a posted receive
	chaosOpenMax  = 40 // receives per pair without a sent message
)

// chaos is one random run.
type chaos struct {
	w     *world
	rng   *rand.Rand
	m     mischief
	nodes map[string]*node // by name: an endpoint that comes back keeps its name
	names []string
	info  bmi.Info
	sizes []int
	ahead map[link]int // sends posted minus receives posted

	checks *checks
}

// A link is a pair of endpoints, by their names, in one direction.
type link struct{ from, to string }

func newChaos(w *world, seed uint64, m mischief) *chaos {
	c := &chaos{
		w: w, m: m, rng: rand.New(rand.NewPCG(seed, 0)),
		nodes: make(map[string]*node), ahead: make(map[link]int),
	}
	c.checks = newChecks(w, c.nodes)
	// A send that was cancelled after part of it had been transmitted may still
	// arrive, even after the last check.
	w.untaken = m.cancels
	for range 2 + c.rng.IntN(3) {
		n := w.open("r", shortDrain)
		c.names = append(c.names, n.name)
		c.join(n)
	}
	any := c.nodes[c.names[0]]
	c.info = any.info()
	c.sizes = any.sizesOfEachProtocol()
	for range 4 {
		c.sizes = append(c.sizes, c.rng.IntN(min(c.info.EagerSize, c.info.MaxExpectedSize)+1))
	}
	if w.s.OneWay {
		w.meet(w.live()...)
	}
	return c
}

// join adds an endpoint, half of the time with a handler for one class.
func (c *chaos) join(n *node) {
	c.nodes[n.name] = n
	if n.info().Classes && c.rng.IntN(2) == 0 {
		n.handle(handledClass, c.checks.handler(n))
	}
}

// handledClass is the class that handlers take.
const handledClass bmi.Class = 2

func (c *chaos) run() {
	c.w.Helper()
	for range chaosSteps {
		c.step()
	}
	c.finish()
	c.checks.verify()
}

// pick draws a link.
func (c *chaos) pick() link {
	i := c.rng.IntN(len(c.names))
	j := (i + 1 + c.rng.IntN(len(c.names)-1)) % len(c.names)
	return link{c.names[i], c.names[j]}
}

// all lists the endpoints, always in the same order, so that a seed is
// repeatable.
func (c *chaos) all() []*node {
	var out []*node
	for _, name := range c.names {
		out = append(out, c.nodes[name])
	}
	return out
}

// any draws an endpoint.
func (c *chaos) any() *node { return c.nodes[c.names[c.rng.IntN(len(c.names))]] }

func (c *chaos) step() {
	c.w.Helper()
	switch k := c.rng.IntN(100); {
	case k < 30:
		c.send()
	case k < 60:
		c.recv(c.pick(), bmi.Tag(c.rng.IntN(chaosTags)))
	case k < 70:
		c.unexpected()
	case k < 78:
		c.take(c.any())
	case k < 92:
		n := c.any()
		n.collect(n.patience() / 100)
		c.w.step()
	case k < 98:
		if c.m.cancels {
			c.cancel()
		}
	default:
		if c.m.endings {
			c.ending()
		}
	}
}

func (c *chaos) message() message {
	return c.w.message(c.sizes[c.rng.IntN(len(c.sizes))])
}

// split divides size into pieces, usually only one.
func (c *chaos) split(size int) []int {
	most := min(c.info.MaxPieces, 6)
	if c.rng.IntN(3) > 0 || most < 2 {
		return []int{size}
	}
	return cut(c.rng, size, 1+c.rng.IntN(most))
}

func (c *chaos) send() {
	c.w.Helper()
	l, tag, m := c.pick(), bmi.Tag(c.rng.IntN(chaosTags)), c.message()
	split := c.split(m.size)
	if c.ahead[l] >= chaosEarlyMax {
		return
	}
	if c.w.s.HeadOfLine {
		// This message must not be overtaken, so its receive is posted first.
		c.recv(l, tag)
	}
	c.ahead[l]++
	if c.info.FileSends && c.rng.IntN(4) == 0 {
		c.checks.sent(l, tag, m, c.nodes[l.from].sendFile(c.nodes[l.to], tag, m))
		return
	}
	c.checks.sent(l, tag, m, c.nodes[l.from].sendList(c.nodes[l.to], tag, m, split))
}

func (c *chaos) recv(l link, tag bmi.Tag) {
	c.w.Helper()
	room := c.sizes[5] + 100 // enough for every message
	if c.rng.IntN(8) == 0 {
		room = c.rng.IntN(room)
	}
	split := c.split(room)
	if c.ahead[l] <= -chaosOpenMax {
		return
	}
	c.ahead[l]--
	c.checks.posted(l, tag, c.nodes[l.to].recvList(c.nodes[l.from], tag, split))
}

func (c *chaos) unexpected() {
	c.w.Helper()
	l, m := c.pick(), c.message()
	class := bmi.Class(c.rng.IntN(4))
	if !c.info.Classes {
		class = 0
	}
	m.size = min(m.size, c.info.MaxUnexpectedSize)
	tag := c.checks.announce(l, class, m)
	c.checks.sentUnexpected(tag, c.nodes[l.from].sendUnexpected(c.nodes[l.to], class, tag, m))
}

// take takes some unexpected messages.
func (c *chaos) take(n *node) bool {
	c.w.Helper()
	var out [4]bmi.Unexpected
	k, err := n.ep.TestUnexpected(out[:], 0)
	require.NoError(c.w, err)
	for i := range out[:k] {
		u := &out[i]
		c.checks.taken(n, bmi.Message{From: u.From, Class: u.Class, Tag: u.Tag, Data: u.Data})
		u.Release()
	}
	return k > 0
}

// cancel cancels one of the pending operations.
func (c *chaos) cancel() {
	c.w.Helper()
	n := c.any()
	draw := c.rng.IntN(1 << 20)
	var pending []*op
	for _, o := range n.ops {
		if o.pending {
			pending = append(pending, o)
		}
	}
	if len(pending) > 0 {
		o := pending[draw%len(pending)]
		c.checks.cancelled(o)
		n.cancel(o)
	}
}

// ending ends a connection or an endpoint, which then comes back.
func (c *chaos) ending() {
	c.w.Helper()
	l, k := c.pick(), c.rng.IntN(3)
	if c.w.s.OneWay {
		return
	}
	n := c.nodes[l.from]
	switch {
	case k == 0:
		c.checks.disturbed(l)
		n.drop(c.nodes[l.to])
	case k == 1 && c.w.s.Crash != nil:
		c.checks.ended(n)
		c.w.crash(n)
		c.join(c.w.reopen(n))
	default:
		c.checks.ended(n)
		c.join(c.w.restart(n))
	}
}

// finish completes everything: every message gets a receive, operations without a
// match are cancelled, every operation completes.
func (c *chaos) finish() {
	c.w.Helper()
	for _, s := range c.checks.order {
		for range c.checks.unmatched(s) {
			r := c.nodes[s.to].recv(c.nodes[s.from], s.tag, c.sizes[5]+100)
			c.checks.posted(s.link, s.tag, r)
		}
	}
	c.w.wait(c.checks.mustEnd()...)
	c.any().untilDone("all unexpected messages are taken", func() bool {
		for _, n := range c.all() {
			for c.take(n) {
			}
			n.collect(n.patience() / 100)
		}
		return c.checks.allTaken()
	})
	// Let operations that are about to complete do so.
	for range 10 {
		for _, n := range c.all() {
			n.collect(n.patience() / 50)
			c.w.step()
		}
	}
	for _, n := range c.all() {
		for _, o := range n.ops {
			if o.pending {
				c.checks.given(o)
				n.cancel(o)
			}
		}
	}
	for _, n := range c.all() {
		c.w.wait(n.ops...)
		for c.take(n) {
		}
	}
}
