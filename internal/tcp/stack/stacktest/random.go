package stacktest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomTests are one test per seed, fewer and shorter ones with -short.
func randomTests() (all []test) {
	seeds, lines := uint64(8), 30
	if testing.Short() {
		seeds, lines = 4, 12
	}
	for seed := range seeds {
		all = append(all, test{fmt.Sprint("random traffic, seed ", seed), func(_ T, w *world) {
			w.rng = rand.New(rand.NewPCG(seed, 2))
			newStorm(w, lines).run()
		}})
	}
	return all
}

// storm opens, uses and ends streams at random, driven by a seed, and checks
// every byte and every end.
type storm struct {
	w       *world
	nodes   []*node
	listens []*end
	lines   []*line // open lines
	fresh   map[*end][]byte
	waiting map[byte]*line // dialled; their other end is not known yet
	made    int
	most    int // 0 ≤ made ≤ most
}

// line is a connection with a flow each way.
type line struct {
	id       byte
	ends     [2]*end // dialled, accepted
	flows    [2]*flow
	finished [2]bool // the end has been sent
	ended    [2]bool // the end of the other side was received
	hello    bool
}

const stormNodes = 3

func newStorm(w *world, lines int) *storm {
	s := &storm{w: w, most: lines, fresh: map[*end][]byte{}, waiting: map[byte]*line{}}
	for range stormNodes {
		n := w.node()
		n.events = n.events[:1+w.rng.IntN(len(n.events))]
		s.nodes = append(s.nodes, n)
		s.listens = append(s.listens, n.listen())
	}
	return s
}

func (s *storm) run() {
	s.w.until("the storm is over", func() bool {
		if s.made < s.most && s.w.rng.IntN(4) == 0 {
			s.dial()
		}
		for _, l := range s.listens {
			if e := l.accept(); e != nil {
				s.fresh[e] = nil
			}
		}
		s.greet()
		for _, l := range s.lines {
			if s.w.rng.IntN(3) > 0 {
				s.step(l)
			}
		}
		s.sweep()
		return s.made == s.most && len(s.lines) == 0
	})
}

// dial opens a line from a stack to another, or to itself.
func (s *storm) dial() {
	from, to := s.nodes[s.w.rng.IntN(stormNodes)], s.listens[s.w.rng.IntN(stormNodes)]
	l := &line{id: byte(s.made)}
	s.made++
	l.ends[0] = from.dial(to.listener.Addr())
	s.lines = append(s.lines, l)
	s.waiting[l.id] = l
}

// greet finds the line to which an accepted stream belongs.
func (s *storm) greet() {
	for _, n := range s.nodes { // in an order drawn from the seed
		for _, e := range n.order() {
			if _, ok := s.fresh[e]; !ok {
				continue
			}
			var b [1]byte
			n, err := e.recv1(b[:])
			noError(s.w.t, err)
			if n == 0 {
				continue
			}
			delete(s.fresh, e)
			l := s.waiting[b[0]]
			require.NotNil(s.w.t, l, "a line that nobody dialled")
			delete(s.waiting, l.id)
			l.ends[1] = e
			for i := range l.flows {
				size := 1 << s.w.rng.IntN(20)
				l.flows[i] = newFlow(l.ends[i], l.ends[1-i], s.w.rng.IntN(size))
			}
		}
	}
}

// step does a random thing on a line.
func (s *storm) step(l *line) {
	t := s.w.t
	if !l.hello {
		n, err := l.ends[0].send1([]byte{l.id})
		require.NoError(t, err)
		l.hello = n == 1
	}
	if l.flows[0] == nil {
		return
	}
	for i, f := range l.flows {
		if !f.done() {
			f.move(s.cut(), s.cut())
		}
		if f.sent == f.total && !l.finished[i] {
			require.NoError(t, f.from.stream.Finish())
			l.finished[i] = true
		}
		if f.done() && !l.ended[1-i] {
			var b [1]byte
			n, err := f.to.recv1(b[:])
			if n > 0 {
				require.Fail(t, "bytes behind the last")
			}
			if err != nil {
				require.True(t, errors.Is(err, io.EOF), "%v", err)
				l.ended[1-i] = true
			}
		}
	}
}

// cut is a random way to cut a buffer.
func (s *storm) cut() pieces {
	return pieces{1 + s.w.rng.IntN(6), 1 + s.w.rng.IntN(1<<s.w.rng.IntN(17))}
}

// sweep closes finished lines.
func (s *storm) sweep() {
	rest := s.lines[:0]
	for _, l := range s.lines {
		if l.ended != [2]bool{true, true} {
			rest = append(rest, l)
			continue
		}
		for _, e := range l.ends {
			e.close()
		}
	}
	s.lines = rest
}
