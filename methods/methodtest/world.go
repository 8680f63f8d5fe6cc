package methodtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A world is the environment of one test: its endpoints, the operations that it
// posted and the limit of every wait. When the test ends it checks the
// requirements of all tests: every operation completed, once; the method wrote no
// byte without permission; endpoints close.
type world struct {
	T
	s *Subject

	mu       sync.Mutex // guards nodes and their lanes
	nodes    []*node
	messages atomic.Uint64
	tags     bmi.Tag // used by freshTag

	stranded []strand // see strand

	none [1]bmi.Completion // for step, which must get no completions

	file *os.File // see inFile

	// untaken: the test leaves unexpected messages behind on purpose.
	untaken bool
	ended   bool // end ran
}

// A node is one endpoint of a world.
type node struct {
	*lane // the operations posted by the test's own goroutine
	w     *world
	name  string
	ep    *bmi.Endpoint
	cfg   bmi.Config
	lanes []*lane
	pump  *bmi.Context // without operations: polls without taking completions
	gone  bool         // closed or crashed by the test

	mu    sync.Mutex
	known map[*node]bmi.Addr
}

// newWorld begins a test.
func newWorld(t T, s *Subject) *world {
	t.Helper()
	require.NotNil(t, s, "the factory made no subject")
	require.NotNil(t, s.Address, "the subject has no Address function")
	w := &world{T: t, s: s}
	t.Cleanup(w.end)
	return w
}

// pair begins a test of two endpoints that have not exchanged messages yet.
func pair(t T, s *Subject) (w *world, a, b *node) {
	t.Helper()
	w = newWorld(t, s)
	return w, w.open("a"), w.open("b")
}

// config is the configuration of the endpoint called name.
func (w *world) config(name string) bmi.Config {
	return bmi.Config{Listen: []string{w.s.Address(name)}, Manual: w.s.Step != nil}
}

// open opens an endpoint that listens under a unique name.
func (w *world) open(role string, change ...func(*bmi.Config)) *node {
	w.Helper()
	return w.openFor(w.T, role, change...)
}

// openFor is open for one of several goroutines.
func (w *world) openFor(t T, role string, change ...func(*bmi.Config)) *node {
	t.Helper()
	name := uniqueName(role)
	cfg := w.config(name)
	for _, f := range change {
		f(&cfg)
	}
	return w.openConfig(t, name, cfg)
}

func (w *world) openAs(name string, cfg bmi.Config) *node {
	w.Helper()
	return w.openConfig(w.T, name, cfg)
}

func (w *world) openConfig(t T, name string, cfg bmi.Config) *node {
	t.Helper()
	opened, inTime := make(chan *bmi.Endpoint, 1), false
	defer func() {
		if !inTime {
			go closeLate(opened)
		}
	}()
	err := w.within(t, "open "+name, func(ctx context.Context) error {
		defer close(opened)
		ep, err := w.s.open(ctx, cfg)
		if err == nil {
			opened <- ep
		}
		return err
	})
	inTime = true
	require.NoError(t, err, "open %s", name)
	return w.adopt(t, name, <-opened, cfg)
}

// closeLate closes an endpoint that was opened after the test had stopped waiting.
func closeLate(opened <-chan *bmi.Endpoint) {
	if ep, ok := <-opened; ok {
		_ = ep.Close() // the test has failed already
	}
}

// adopt makes an endpoint part of the world.
func (w *world) adopt(t T, name string, ep *bmi.Endpoint, cfg bmi.Config) *node {
	t.Helper()
	n := &node{w: w, name: name, ep: ep, cfg: cfg, known: make(map[*node]bmi.Addr)}
	w.mu.Lock()
	w.nodes = append(w.nodes, n)
	w.mu.Unlock()
	n.lane = n.newLane(t)
	if w.s.Step != nil {
		ctx, err := ep.OpenContext()
		require.NoError(t, err, "open a second context")
		n.pump = ctx
	}
	return n
}

// info describes the method under test as the endpoint sees it.
func (n *node) info() bmi.Info {
	n.w.Helper()
	scheme := n.w.s.scheme()
	for _, i := range n.ep.Info() {
		if i.Name == scheme {
			return i
		}
	}
	n.w.Errorf("Endpoint.Info of %s does not list the method %q", n.name, scheme)
	n.w.FailNow()
	return bmi.Info{}
}

// addr is n's address for m.
func (n *node) addr(m *node) bmi.Addr {
	n.w.Helper()
	n.mu.Lock()
	a, ok := n.known[m]
	n.mu.Unlock()
	if ok {
		return a
	}
	a, err := n.ep.Lookup(n.w.s.Address(m.name))
	require.NoError(n.w, err, "%s looks up %s", n.name, m.name)
	n.learn(m, a)
	if n.w.s.OneWay && n != m {
		n.introduce(m, a)
	}
	return a
}

func (n *node) learn(m *node, a bmi.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[m] = a
}

// forget makes the next use of m's address look it up again.
func (n *node) forget(m *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, m)
}

// introduce tells m how to address n, if its method cannot know. A first message
// may be lost with a connection that n does not know to be broken.
func (n *node) introduce(m *node, a bmi.Addr) {
	n.w.Helper()
	var sent []message
	var hellos []*op
	n.untilDone("introduce "+n.name+" to "+m.name, func() bool {
		sent = append(sent, n.w.message(0))
		hello := n.lane.sendUnexpectedTo(a, 0, bmi.Tag(len(sent)), sent[len(sent)-1])
		n.w.wait(hello)
		hellos = append(hellos, hello)
		if hello.c.Err != nil {
			return false
		}
		// Earlier messages on the same connection arrive before it.
		var out [1]bmi.Unexpected
		last := false
		m.aWhile(len(sent)-1, func() bool {
			got, err := m.ep.TestUnexpected(out[:], m.patience())
			require.NoError(n.w, err)
			if got == 1 {
				last = out[0].Tag == bmi.Tag(len(sent))
				m.learn(n, out[0].From)
				out[0].Release()
			}
			return last
		})
		return last
	})
}

// meet makes every pair of nodes know each other's addresses, so that lanes in
// several goroutines need not look them up.
func (w *world) meet(nodes ...*node) {
	w.Helper()
	for _, a := range nodes {
		for _, b := range nodes {
			if a != b {
				a.addr(b)
			}
		}
	}
}

// message makes a unique message.
func (w *world) message(size int) message {
	return message{id: w.messages.Add(1), size: size}
}

// bounded runs f, which may block, and fails the test if f fails or takes too
// long.
func (w *world) bounded(what string, f func(ctx context.Context) error) {
	w.Helper()
	if err := w.within(w.T, what, f); err != nil {
		w.Errorf("%s: %v", what, err)
		w.FailNow()
	}
}

// within runs f, which may block, and returns what it returns. The test fails
// if f takes too long.
func (w *world) within(t T, what string, f func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), w.s.timeout())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	// Code that waits for ctx gets the same time again to report that ctx ended.
	timer := time.NewTimer(2 * w.s.timeout())
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		w.overdue(t, what)
		return nil
	}
}

// overdue ends a test that waited too long.
func (w *world) overdue(t T, what string) {
	t.Helper()
	t.Errorf("%s: not done after %v", what, w.s.timeout())
	t.FailNow()
}

// threaded skips the test for subjects in simulated time.
func (w *world) threaded() {
	w.Helper()
	if w.s.Step != nil {
		w.Skipf("the method runs in simulated time: there is nobody to block or to wake")
	}
}

// twoWay skips the test for methods that do not recognise a connecting peer.
func (w *world) twoWay() {
	w.Helper()
	if w.s.OneWay {
		w.Skipf("the method does not recognise an endpoint that connects by the address it listens on")
	}
}

// crashes skips the test for subjects that cannot crash.
func (w *world) crashes() {
	w.Helper()
	if w.s.Crash == nil {
		w.Skipf("the subject has no Crash hook")
	}
}

// crash ends n as kill -9 would.
func (w *world) crash(n *node) {
	w.Helper()
	n.abandon()
	w.s.Crash(w.T, n.ep)
}

// restart replaces n by a new endpoint under the same address.
func (w *world) restart(n *node) *node {
	w.Helper()
	n.abandon()
	if w.s.Restart != nil {
		ep := w.s.Restart(w.T, n.ep, n.cfg)
		return w.adopt(w.T, n.name, ep, n.cfg)
	}
	w.bounded("close "+n.name, func(context.Context) error { return n.ep.Close() })
	return w.openAs(n.name, n.cfg)
}

// reopen opens the name of a node that has ended.
func (w *world) reopen(n *node) *node {
	w.Helper()
	return w.openAs(n.name, n.cfg)
}

// abandon removes n from the nodes that the world checks.
func (n *node) abandon() {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	n.gone = true
}

// live lists the nodes that are neither closed nor crashed.
func (w *world) live() []*node {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*node
	for _, n := range w.nodes {
		if !n.gone {
			out = append(out, n)
		}
	}
	return out
}

// everyLane lists the lanes of all nodes, including those that have ended.
func (w *world) everyLane() []*lane {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*lane
	for _, n := range w.nodes {
		out = append(out, n.lanes...)
	}
	return out
}

func (n *node) String() string { return fmt.Sprint("endpoint ", n.name) }
