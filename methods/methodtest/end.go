package methodtest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// end checks, after the test's own function, what must hold for every test, and
// closes what it left open.
func (w *world) end() {
	w.Helper()
	if w.ended {
		return
	}
	w.ended = true
	if !w.Failed() {
		w.checkAccounts()
	}
	if w.Failed() {
		w.Logf("at the end of the test:\n%s", w.dump())
	}
	// Memory allocated by methods is gone with its endpoint, so it is checked
	// now; all other memory is checked when nothing may write to it any more.
	w.checkMemory(func(mem *memory) bool { return mem.slab == nil })
	for _, n := range w.live() {
		n.abandon()
		w.closeBounded(n)
	}
	w.checkMemory(func(mem *memory) bool { return mem.slab != nil })
}

// closeBounded closes an endpoint. If that hangs it reports a failure and returns
// false; the endpoint must then not be used any more.
func (w *world) closeBounded(n *node) bool {
	w.Helper()
	done := make(chan error, 1)
	start := time.Now()
	go func() { done <- n.ep.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), w.s.timeout())
	defer cancel()
	select {
	case err := <-done:
		switch drain := n.cfg.Limits.DrainTimeMax; {
		case err == nil:
		case drain > 0 && time.Since(start) >= drain:
			// Its time to drain was short, so it may report unfinished operations.
			w.Logf("close of %s: %v", n.name, err)
		default:
			w.Errorf("close of %s: %v", n.name, err)
		}
		return true
	case <-ctx.Done():
		w.Errorf("close of %s did not return within %v", n.name, w.s.timeout())
		return false
	}
}

// checkAccounts looks for extra completions and messages, and for operations that
// have not ended.
func (w *world) checkAccounts() {
	w.Helper()
	for _, n := range w.live() {
		for _, l := range n.lanes {
			l.sweep()
		}
		if !w.untaken {
			w.checkUntaken(n)
		}
	}
	for _, l := range w.everyLane() {
		for _, o := range l.ops {
			if o.pending && !l.n.gone {
				w.Errorf("the test ends and this operation has not completed: %v", o)
			}
		}
	}
}

// sweep takes the remaining completions; none may be unknown or repeated.
func (l *lane) sweep() {
	if l.closed {
		return
	}
	for {
		n, err := l.ctx.TestContext(l.out[:], 0)
		if err != nil {
			l.w.Errorf("TestContext of %s: %v", l.n.name, err)
			return
		}
		if n == 0 {
			return
		}
		for _, c := range l.out[:n] {
			l.completed(c)
		}
	}
}

func (w *world) checkUntaken(n *node) {
	w.Helper()
	var out [1]bmi.Unexpected
	k, err := n.ep.TestUnexpected(out[:], 0)
	if err != nil {
		w.Errorf("TestUnexpected of %s: %v", n.name, err)
	}
	if k > 0 {
		w.Errorf("%s has an unexpected message too many: class %d, tag %d, %d bytes from %s",
			n.name, out[0].Class, out[0].Tag, len(out[0].Data), out[0].From)
		out[0].Release()
	}
}

// checkMemory looks for bytes that were written without permission.
func (w *world) checkMemory(which func(*memory) bool) {
	w.Helper()
	for _, l := range w.everyLane() {
		for _, o := range l.ops {
			if o.pending || !which(o.mem) {
				continue
			}
			if how := o.mem.touched(); how != "" {
				w.Errorf("%v: %s", o, how)
			}
		}
	}
}

// pendingMax is how many pending operations a dump lists per endpoint.
const pendingMax = 10

// dump describes every endpoint: its pending operations and its counters.
func (w *world) dump() string {
	var b strings.Builder
	for _, n := range w.live() {
		fmt.Fprintf(&b, "%s\n", n.name)
		n.dumpPending(&b)
		b.WriteString(n.counted())
	}
	return b.String()
}

// method is the counters of the method under test at n; nil if it does not count.
func (n *node) method() *bmi.MethodStats {
	scheme := n.w.s.scheme()
	for _, m := range n.ep.Stats().Methods {
		if m.Method == scheme {
			return &m
		}
	}
	return nil
}

// counted is the endpoint's Stats as text. It has a time limit, because a method
// that hangs may hang here too.
func (n *node) counted() string {
	text := make(chan string, 1)
	go func() {
		var b strings.Builder
		st := n.ep.Stats()
		for _, m := range st.Methods {
			fmt.Fprintf(&b, "  method %s\n", counters(m))
		}
		for _, p := range st.Peers {
			fmt.Fprintf(&b, "  peer %s\n", counters(p))
		}
		text <- b.String()
	}()
	select {
	case s := <-text:
		return s
	case <-time.After(statsTimeMax):
		return "  (Stats does not return)\n"
	}
}

var zeroCounter = regexp.MustCompile(`\w+:0s? ?`)

// counters prints those counters of v that are not zero.
func counters(v any) string { return zeroCounter.ReplaceAllString(fmt.Sprintf("%+v", v), "") }

// statsTimeMax is how long a dump waits for an endpoint's counters.
const statsTimeMax = 2 * time.Second

// dumpPending lists the operations that have not completed.
func (n *node) dumpPending(b *strings.Builder) {
	listed := 0
	for _, l := range n.lanes {
		for _, o := range l.ops {
			if !o.pending {
				continue
			}
			if listed++; listed > pendingMax {
				fmt.Fprintf(b, "  …and more\n")
				return
			}
			fmt.Fprintf(b, "  pending: %v\n", o)
		}
	}
}
