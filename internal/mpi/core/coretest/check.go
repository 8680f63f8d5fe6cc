package coretest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Check checks the outcome of a program by the rules of the standard: every receive got a message
// that was sent, complete and only once; every message was received or cancelled; and there is an
// order of the matches in which no message overtakes another (MPI-4.1, 3.5).
func Check(seed uint64, ranks []*History) error {
	c := newChecker(seed, ranks)
	for _, g := range c.got {
		if err := c.identify(g); err != nil {
			return err
		}
	}
	for _, m := range c.sent {
		switch g := c.by[m]; {
		case g == nil && !m.Cancelled:
			return fmt.Errorf("coretest: nobody received %v", m)
		case g != nil && m.Cancelled:
			return fmt.Errorf("coretest: %v was cancelled, and received by %v", m, g)
		}
	}
	return c.order()
}

// checkPart is Check of a program that did not end. It checks the receives that ended, except two
// kinds: those of small messages, which may look like a message whose receive is unknown, and
// truncated ones, which may also have failed.
func checkPart(seed uint64, ranks []*History) error {
	c := newChecker(seed, ranks)
	c.got = slices.DeleteFunc(c.got, func(g *Got) bool {
		return !g.Done || !g.Cancelled && (g.Status.Bytes < 8 || g.Status.Bytes > g.Room)
	})
	for _, g := range c.got {
		if err := c.identify(g); err != nil {
			return err
		}
	}
	return c.order()
}

func newChecker(seed uint64, ranks []*History) *checker {
	c := &checker{seed: seed, match: make(map[*Got]*Sent), by: make(map[*Sent]*Got), left: make(map[envelope][]*Sent)}
	for _, h := range ranks {
		for _, m := range h.Sent {
			e := envelope{m.Src, m.Dst, m.Comm, m.Tag}
			c.left[e] = append(c.left[e], m)
			c.sent = append(c.sent, m)
		}
		c.got = append(c.got, h.Got...)
	}
	return c
}

type envelope struct{ src, dst, comm, tag int }

type checker struct {
	seed  uint64
	sent  []*Sent
	got   []*Got
	left  map[envelope][]*Sent // not received yet, in the order of their posts
	match map[*Got]*Sent
	by    map[*Sent]*Got
}

// identify finds the message that a receive got. If several small messages look the same, it is the
// first that was not cancelled: any other would have overtaken it.
func (c *checker) identify(g *Got) error {
	st := g.Status
	switch {
	case !g.Done:
		return fmt.Errorf("coretest: %v has not ended", g)
	case g.Cancelled:
		if len(g.Data) > 0 || g.Err != nil {
			return fmt.Errorf("coretest: %v was cancelled, and got %d bytes, error %v", g, len(g.Data), g.Err)
		}
		return nil
	case st.Cancelled:
		return fmt.Errorf("coretest: %v says that it was cancelled, which nobody asked for", g)
	}
	if err := truncated(g); err != nil {
		return err
	}
	if p := g.Probed; p != nil && p.Status != st {
		return fmt.Errorf("coretest: %v got %+v, and its probe saw %+v", g, st, p.Status)
	}
	e := envelope{st.Source, g.Rank, g.Comm, st.Tag}
	found := -1
	for i, m := range c.left[e] {
		if m.Size == st.Bytes && c.holds(g, m) && (found < 0 || c.left[e][found].Cancelled) {
			found = i
		}
	}
	if found >= 0 {
		m := c.left[e][found]
		if !g.fits(m) {
			return fmt.Errorf("coretest: %v got %v, which it did not look for", g, m)
		}
		c.left[e] = append(c.left[e][:found:found], c.left[e][found+1:]...)
		c.match[g], c.by[m] = m, g
		return nil
	}
	return fmt.Errorf("coretest: %v got what nobody sent, or somebody else had: %+v, data %.16x", g, st, g.Data)
}

// truncated checks the error of a receive against its buffer size.
func truncated(g *Got) error {
	switch {
	case g.Status.Bytes > g.Room:
		if !errors.Is(g.Err, errclass.Truncate) {
			return fmt.Errorf("coretest: %v of %d bytes got %d, and says %v", g, g.Room, g.Status.Bytes, g.Err)
		}
	case g.Err != nil:
		return fmt.Errorf("coretest: %v failed: %w", g, g.Err)
	}
	if want := min(g.Room, g.Status.Bytes); len(g.Data) != want {
		return fmt.Errorf("coretest: %v got %d bytes, not %d", g, len(g.Data), want)
	}
	return nil
}

// holds tells whether a receive got the contents of a message.
func (c *checker) holds(g *Got, m *Sent) bool {
	want := make([]byte, len(g.Data))
	Fill(want, c.seed, m.ID)
	return bytes.Equal(want, g.Data)
}

// An event is a moment at which a message or a receive leaves the matching: both at once if they
// matched, one alone if it was cancelled. A probe that saw a message is an event, too.
type event struct {
	m             *Sent
	g             *Got
	after, before int // in the time of the receiver; 0 means any
	next          []*event
	mark          uint8
}

func (e *event) String() string {
	switch {
	case e.m == nil:
		return fmt.Sprintf("[the cancel of %v]", e.g)
	case e.g == nil:
		return fmt.Sprintf("[the cancel of %v]", e.m)
	}
	return fmt.Sprintf("[%v gets %v]", e.g, e.m)
}

// order checks each communicator at each rank separately, because no order relates them.
func (c *checker) order() error {
	type place struct{ rank, comm int }
	places := make(map[place][]*event)
	var order []place
	add := func(rank, comm int, e *event) {
		p := place{rank, comm}
		if places[p] == nil {
			order = append(order, p)
		}
		places[p] = append(places[p], e)
	}
	for _, m := range c.sent {
		if g := c.by[m]; g == nil {
			add(m.Dst, m.Comm, &event{m: m})
		}
	}
	for _, g := range c.got {
		add(g.Rank, g.Comm, &event{m: c.match[g], g: g, after: g.After, before: g.Before})
	}
	for _, p := range order {
		if err := c.orderAt(places[p]); err != nil {
			return err
		}
	}
	return nil
}

// positions returns the place of each message among those of its sender.
func (c *checker) positions() map[*Sent]int {
	at := make(map[*Sent]int, len(c.sent))
	for i, m := range c.sent {
		at[m] = i
	}
	return at
}

// orderAt looks for a cycle in the order that the events must have.
func (c *checker) orderAt(events []*event) error {
	at := c.positions()
	for _, e := range events {
		for _, f := range events {
			if e != f && before(e, f, at) {
				e.next = append(e.next, f)
			}
		}
	}
	for _, p := range probes(events) {
		for _, e := range events {
			if e.m != p.m && before(e, p, at) {
				e.next = append(e.next, p)
			}
			if e.m == p.m || e.after > 0 && p.before < e.after {
				p.next = append(p.next, e)
			}
		}
	}
	for _, e := range events {
		if circle := e.circle(nil); circle != nil {
			return fmt.Errorf("coretest: out of order: each of these must come before the next, and the last before the first: %v", circle)
		}
	}
	return nil
}

// before tells whether e must come before f, by one of three rules.
func before(e, f *event, at map[*Sent]int) bool {
	switch {
	case e.before > 0 && f.after > 0 && e.before < f.after:
		return true // the receiver's time says so
	case f.m == nil || f.g == nil:
		return false
	// A message does not overtake one that its receive would also have matched.
	case e.m != nil && e.m.Src == f.m.Src && at[e.m] < at[f.m] && f.g.fits(e.m):
		return true
	}
	// A receive does not overtake one that its message would also have matched.
	return e.g != nil && !e.g.Taken && e.g.Posted < f.g.Posted && e.g.fits(f.m)
}

// probes returns events for the probes that left their messages to receives.
func probes(events []*event) (all []*event) {
	for _, e := range events {
		if e.g != nil && e.g.Probed != nil {
			p := e.g.Probed
			all = append(all, &event{m: e.m, g: p, after: p.After, before: p.Before})
		}
	}
	return all
}

// Marks of a depth-first search.
const (
	underWay = 1 + iota
	finished
)

// circle finds a cycle through e; path is the way to e.
func (e *event) circle(path []*event) []*event {
	if e.mark == finished {
		return nil
	}
	path = append(path, e)
	if e.mark == underWay {
		for i, p := range path {
			if p == e {
				return path[i : len(path)-1]
			}
		}
	}
	e.mark = underWay
	for _, f := range e.next {
		if found := f.circle(path); found != nil {
			return found
		}
	}
	e.mark = finished
	return nil
}

// checkSend checks how a send ended.
func checkSend(m *Sent, st core.Status, err error, cancel bool) error {
	switch {
	case err != nil:
		return fmt.Errorf("coretest: sending %v: %w", m, err)
	case st.Cancelled && !cancel:
		return fmt.Errorf("coretest: sending %v: cancelled, which nobody asked for", m)
	}
	m.Cancelled = st.Cancelled
	return nil
}
