package bulk_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/via/bulk"
)

// all are the ways in which a message of four bytes can travel.
func all() (out []options) {
	for _, mine := range []int{0, 4} {
		for _, write := range []bool{false, true} {
			out = append(out, options{size: 4, mine: mine, write: write})
		}
	}
	return append(out, options{size: 4, mine: 2, write: true}, options{size: 5, mine: 1, write: true},
		options{size: 4, short: true}, options{size: 1, mine: 1}, options{size: 1}, options{})
}

// explore visits every state that a pair can reach, in every order of events, and returns the first fault and how many states
// there are. check looks at each state, and rest at those in which nothing is left to do.
func explore(start *pair, check, rest func(*pair) error) (states int, fault error) {
	seen := map[string]bool{}
	var visit func(p *pair) error
	visit = func(p *pair) error {
		key := p.key()
		if seen[key] {
			return nil
		}
		seen[key] = true
		if err := check(p); err != nil {
			return fmt.Errorf("%w: %s", err, key)
		}
		moves := p.moves()
		if len(moves) == 0 {
			if err := rest(p); err != nil {
				return fmt.Errorf("%w: %s", err, key)
			}
		}
		for _, move := range moves {
			next := p.copy()
			if err := move(next); err != nil {
				return fmt.Errorf("%w: after %s", err, key)
			}
			if err := visit(next); err != nil {
				return err
			}
		}
		return nil
	}
	fault = visit(start)
	return len(seen), fault
}

// noByteTwice holds in each state.
func noByteTwice(p *pair) error {
	for i, n := range p.bytes {
		if n > 1 {
			return fmt.Errorf("byte %d was moved %d times", i, n)
		}
	}
	// A side that is done must not be waited for, nor have its memory in use.
	for _, s := range []*side{&p.send, &p.recv} {
		if s.ended > 1 || s.ended == 1 && (s.t.State() != bulk.Ended || len(s.rdma) > 0 || len(p.peer(s).rdma) > 0) {
			return fmt.Errorf("the %s ended %d times, with RDMA under way: %v, %v", s.name, s.ended, s.rdma, p.peer(s).rdma)
		}
	}
	return nil
}

// complete holds in the end.
func complete(p *pair) error {
	want := 1
	if p.opts.short {
		want = 0
	} else if p.recv.ended != 1 {
		return fmt.Errorf("the receiver waits")
	}
	if p.send.ended != 1 {
		return fmt.Errorf("the sender waits")
	}
	for i, n := range p.bytes {
		if n != want {
			return fmt.Errorf("byte %d was moved %d times", i, n)
		}
	}
	return nil
}

// TestEveryOrder: in every order of events, each byte is moved once, both sides end, and neither ends while the other uses its
// memory.
func TestEveryOrder(t *testing.T) {
	for _, o := range all() {
		p := newPair(o)
		p.announce()
		states, fault := explore(p, noByteTwice, complete)
		require.NoError(t, fault, "%+v", o)
		t.Logf("%+v: %d states", o, states)
	}
}

// TestPlantedErrors proves that the checks work: each broken variant must be found.
func TestPlantedErrors(t *testing.T) {
	for _, drop := range []bulk.Actions{bulk.SendCTS, bulk.SendFin, bulk.End} {
		found := false
		for _, o := range all() {
			p := newPair(o)
			p.bug = func(act bulk.Actions) bulk.Actions { return act &^ drop }
			p.announce()
			_, fault := explore(p, noByteTwice, complete)
			found = found || fault != nil
		}
		require.True(t, found, "action %b was never carried out", drop)
	}
	p := newPair(options{size: 4, mine: 2, write: true})
	p.bug = func(act bulk.Actions) bulk.Actions { // the operation ends when this side's part is moved
		if act&bulk.SendFin != 0 {
			act |= bulk.End
		}
		return act
	}
	p.announce()
	_, fault := explore(p, noByteTwice, complete)
	require.Error(t, fault)
}

// TestFailure: a side may fail at any moment. It takes and asks for nothing any more, and the peer breaks no rule.
func TestFailure(t *testing.T) {
	for _, o := range all() {
		start := newPair(o)
		start.announce()
		_, fault := explore(start, func(p *pair) error {
			for _, recv := range []bool{false, true} {
				q := p.copy()
				s := &q.send
				if recv {
					s = &q.recv
				}
				if s.t.State() == bulk.Unused {
					continue
				}
				q.fail(s)
				ended := s.ended
				for len(s.in) > 0 {
					if err := q.deliver(s); err != nil {
						return err
					}
				}
				for len(s.rdma) > 0 {
					q.complete(s)
				}
				if from, to := s.t.Rest(); from != to || s.ended != ended || s.t.State() != bulk.Ended {
					return fmt.Errorf("a failed %s went on", s.name)
				}
			}
			return nil
		}, func(*pair) error { return nil })
		require.NoError(t, fault, "%+v", o)
	}
}

// TestHostilePackets: a packet that is out of turn, or names bytes that are not the sender's part, is refused and changes nothing.
func TestHostilePackets(t *testing.T) {
	announced := func() (t bulk.Transfer) { t.Announce(100); return t }
	accepted := func(mine int) (t bulk.Transfer) { t.Accept(100, mine); return t }
	asked := func(from int) (t bulk.Transfer) {
		t.Announce(100)
		_, _ = t.Ask(100, from, false)
		return t
	}
	ask := func(size, from int) func(*bulk.Transfer) error {
		return func(t *bulk.Transfer) error { _, err := t.Ask(size, from, true); return err }
	}
	arrive := func(off, n int) func(*bulk.Transfer) error {
		return func(t *bulk.Transfer) error { _, err := t.Arrive(off, n); return err }
	}
	finish := func(moved bool) func(*bulk.Transfer) error {
		return func(t *bulk.Transfer) error { _, err := t.Finish(moved); return err }
	}
	for name, c := range map[string]struct {
		t     bulk.Transfer
		event func(*bulk.Transfer) error
	}{
		"CTS for a receive":              {accepted(0), ask(100, 0)},
		"CTS twice":                      {asked(50), ask(100, 50)},
		"CTS for another size":           {announced(), ask(101, 0)},
		"CTS from the end":               {announced(), ask(100, 100)},
		"CTS from before the beginning":  {announced(), ask(100, -1)},
		"DATA for a send":                {announced(), arrive(0, 10)},
		"DATA for a send under way":      {asked(50), arrive(0, 10)},
		"DATA with a gap":                {accepted(0), arrive(10, 10)},
		"DATA beyond the end":            {accepted(0), arrive(0, 101)},
		"DATA for a part that is read":   {accepted(50), arrive(0, 10)},
		"FIN before the DATA":            {accepted(0), finish(true)},
		"FIN of a sender with no part":   {accepted(100), finish(true)},
		"FIN of a receiver with no part": {asked(0), finish(true)},
		"FIN, too short, after the CTS":  {asked(50), finish(false)},
	} {
		was := c.t
		require.ErrorIs(t, c.event(&c.t), bulk.ErrProtocol, name)
		require.Equal(t, was, c.t, name)
	}
}

func TestIllegalTransitions(t *testing.T) {
	require.PanicsWithValue(t, "bulk: illegal transition ANNOUNCED -> ANNOUNCED", func() {
		var x bulk.Transfer
		x.Announce(1)
		x.Announce(1)
	})
}

// FuzzHostilePeer plays any events at a transfer whose owner keeps to the rules: it never panics, and never moves or takes a byte that is
// not there.
func FuzzHostilePeer(f *testing.F) {
	f.Add([]byte{0, 10, 2, 5, 5, 0, 4})
	f.Add([]byte{1, 10, 3, 0, 10, 4, 5, 3})
	f.Fuzz(func(t *testing.T, script []byte) {
		next := func() int {
			if len(script) == 0 {
				return 0
			}
			b := script[0]
			script = script[1:]
			return int(int8(b))
		}
		var x bulk.Transfer
		var under []int
		size := 1 + max(0, next())
		if next()%2 == 0 {
			x.Announce(size)
		} else {
			x.Accept(size, min(size, max(0, next())))
		}
		ends := 0
		count := func(act bulk.Actions) {
			if act&bulk.End != 0 {
				ends++
			}
		}
		for len(script) > 0 {
			switch next() % 7 {
			case 0:
				act, _ := x.Ask(next(), next(), next()%2 == 0)
				count(act)
			case 1:
				if n := next(); n >= 0 {
					_, _ = x.Arrive(next(), n)
				}
			case 2:
				act, _ := x.Finish(next()%3 != 0)
				count(act)
			case 3:
				x.Opened()
			case 4:
				if from, to := x.Rest(); from < to {
					n := 1 + abs(next())%(to-from)
					x.Gave(n)
					under = append(under, n)
				}
			case 5:
				if len(under) > 0 {
					count(x.Moved(under[0]))
					under = under[1:]
				}
			case 6:
				if next() == 0 {
					x.Fail()
				}
			}
			from, to := x.Rest()
			require.True(t, 0 <= x.Begin() && from <= to && to <= size, "%v", &x)
			require.True(t, 0 <= x.Arrived() && x.Arrived() <= size, "%v", &x)
			require.LessOrEqual(t, ends, 1)
		}
	})
}

func abs(n int) int { return max(n, -n) }
