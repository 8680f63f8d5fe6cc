package stacktest

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// world is the subject of one test with the stacks it opened.
type world struct {
	t     T
	s     *Subject
	nodes []*node
	rng   *rand.Rand
}

func newWorld(t T, s *Subject) *world {
	require.NotNil(t, s.Open, "stacktest: Subject.Open is required")
	require.NotNil(t, s.Addr, "stacktest: Subject.Addr is required")
	w := &world{t: t, s: s, rng: rand.New(rand.NewPCG(1, 1))}
	t.Cleanup(func() {
		for _, n := range w.nodes {
			n.close()
		}
	})
	return w
}

// node opens another stack and plays its owner.
func (w *world) node() *node {
	n := &node{w: w, stack: w.s.Open(), ends: map[stack.Token]*end{}, events: make([]stack.Event, 16)}
	require.NotNil(w.t, n.stack)
	w.nodes = append(w.nodes, n)
	return n
}

// until advances the world until done, and fails the test if that takes too long.
func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	deadline, steps := time.Now().Add(w.s.timeout()), 0
	for !done() {
		if w.poll() {
			continue
		}
		if w.s.Step != nil {
			w.s.Step()
			steps++
			if steps >= w.s.steps() {
				require.Fail(w.t, "too many steps", "until: %s", what)
			}
		} else {
			w.nap()
		}
		if time.Now().After(deadline) {
			require.Fail(w.t, "took too long", "until: %s", what)
		}
	}
}

// poll polls every stack once and reports whether there were events.
func (w *world) poll() bool {
	some := false
	for _, n := range w.nodes {
		some = n.poll() > 0 || some
	}
	return some
}

// nap lets real time pass while nothing happens. It sleeps on the first stack, if
// that supports it, and never for long, because the event may come to another stack.
func (w *world) nap() {
	const nap = 200 * time.Microsecond
	s, ok := w.nodes[0].stack.(stack.Sleeper)
	if !ok {
		<-time.After(nap)
		return
	}
	if s.Arm() {
		s.Sleep(nap)
	}
	s.Disarm()
}

// settle waits for everything under way, for tests of what must not happen.
func (w *world) settle() {
	quiet := 0
	for until := time.Now().Add(20 * time.Millisecond); quiet < 1000; quiet++ {
		if w.poll() {
			quiet = 0
		}
		if w.s.Step != nil {
			w.s.Step()
			continue
		}
		if w.nap(); time.Now().After(until) {
			return
		}
	}
}

// arrives waits until all bytes that an end has sent are on the other side, with
// their event.
func (w *world) arrives(e *end) {
	w.t.Helper()
	if w.s.Step != nil {
		w.settle() // the event may still be delayed
		return
	}
	w.until("delivered", e.stream.Delivered)
	w.poll()
}

// nobody is an address of n's without a listener.
func (w *world) nobody(n *node) netip.AddrPort {
	l, err := n.stack.Listen(w.s.Addr(n.stack), n.token())
	require.NoError(w.t, err)
	at := l.Addr()
	require.NoError(w.t, l.Close())
	return at
}
