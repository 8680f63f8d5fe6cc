package tree

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

func (w *world) start() {
	w.say(&wire.Start{Group: theGroup, Programs: []wire.Program{{N: w.size}}, Blocks: w.blocks})
}

func TestAJobWithoutFailures(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed, 1+int(seed%40), 1+int(seed%5), 1+int(seed%4))
		w.start()
		w.run(func(int) {})
		assert.True(t, w.up)
		assert.True(t, w.started)
		assert.Equal(t, []bool{false, true}, w.state)
		assert.Len(t, w.ends, w.size)
		for _, h := range w.hosts[1:] {
			assert.Equal(t, 3*wire.OutputBytesMax, w.output[h.ranks[0]])
		}
		for _, n := range w.nodes {
			assert.Empty(t, n.groups, "a group that has ended leaves nothing")
		}
	})
}

// Whatever dies, and whenever: all ends, and the launcher knows of every process, or of the loss of
// its host.
func TestDeaths(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		for trial := range uint64(40) {
			w := newWorld(t, seed<<8+trial, 30, 3, 1+int(trial%5))
			w.start()
			for range w.r.IntN(3) {
				w.hosts[1+w.r.IntN(30)].dies = w.r.IntN(5)
			}
			kills := w.r.IntN(4)
			w.run(func(int) {
				if kills > 0 && w.r.IntN(200) == 0 {
					kills--
					w.kill(1 + w.r.IntN(30))
				}
			})
			for at, h := range w.hosts {
				if len(w.lost) > 0 && slices.ContainsFunc(w.lost, func(lost int) bool { return Below(at, lost, w.arity) }) {
					continue
				}
				for _, rank := range h.ranks {
					require.Contains(t, w.ends, rank)
				}
			}
		}
	})
}

// What a start costs each node, and how deep the tree is, for up to 100,000 processes on hosts of 16.
func TestCostOfAStart(t *testing.T) {
	const perHost, arity = 16, 16
	var table strings.Builder
	for _, ranks := range []int{100, 1_000, 10_000, 100_000} {
		if ranks > 10_000 && testing.Short() {
			continue
		}
		hosts := ranks / perHost
		w := newWorld(t, sim.Seed(t), hosts, perHost, arity)
		for _, h := range w.hosts {
			h.writes = 0
		}
		w.start()
		w.run(func(int) {})
		require.Len(t, w.ends, hosts*perHost)
		most, pieces := 0, 0
		for i, n := range w.messages {
			most = max(most, n-w.pieces[i])
			pieces = max(pieces, w.pieces[i])
		}
		depth := 0
		for at := hosts; at > 0; at = Parent(at, arity) {
			depth++
		}
		log := int(math.Ceil(math.Log(float64(hosts)) / math.Log(arity)))
		assert.LessOrEqual(t, depth, log+1)
		assert.LessOrEqual(t, most, 10*(arity+1), "ten on each link: the greeting excepted, and pieces of pairs")
		fmt.Fprintf(&table, "%6d ranks, %4d hosts: depth %d, at most %d messages at a node\n", ranks, hosts, depth, most)
	}
	t.Log("\n" + table.String())
}

func TestWhoIsMissing(t *testing.T) {
	w := newWorld(t, sim.Seed(t), 10, 4, 2)
	w.start()
	for w.deliver() {
	}
	for _, at := range []int{2, 5, 9} {
		require.True(t, w.step(at))
	}
	for w.deliver() {
	}
	w.say(&wire.Who{Group: theGroup})
	w.say(&wire.Who{Group: theGroup}) // while the answer is under way
	w.kill(1)                         // with 3, 4, 7, 8 and 9
	for w.deliver() {
	}
	require.NotNil(t, w.missing)
	assert.Equal(t, w.hosts[6].ranks[:1], w.missing.Ranks)
	assert.Equal(t, 3, w.missing.More)
}

// A neighbour that sends more output than its window has room for is cut off.
func TestABrokenWindow(t *testing.T) {
	n, _ := New(Config{Node: 0, Arity: 2, Nodes: 3})
	n.Receive(Up, &wire.Start{Group: theGroup})
	n.credit = 0
	var last []Action
	for range OutputWindow/wire.OutputBytesMax + 1 {
		last = n.Receive(1, &wire.Output{Group: theGroup, Data: make([]byte, wire.OutputBytesMax)})
	}
	require.NotEmpty(t, last)
	assert.Equal(t, Action{To: 1}, last[0])
	assert.IsType(t, &wire.Lost{}, last[1].Frame)
	assert.Empty(t, n.Receive(1, &wire.Up{}), "nobody listens to it any more")
}

// Frames that make no sense have no effect: of unknown groups, for nodes elsewhere, from strangers.
func TestNonsense(t *testing.T) {
	n, _ := New(Config{Node: 1, Arity: 2, Nodes: 7})
	for _, f := range []wire.Frame{
		&wire.Release{Group: 9}, &wire.Signal{Group: 9}, &wire.Who{Group: 9}, &wire.Answer{Node: 2}, &wire.Answer{Node: 99}, &wire.Answer{Node: 0},
		&wire.Input{Node: 6}, &wire.Up{},
	} {
		assert.Empty(t, n.Receive(Up, f), "%T", f)
	}
	for _, f := range []wire.Frame{&wire.Fence{Group: 9, Last: true}, &wire.State{Group: 9}, &wire.Ended{Group: 9, Done: true}, &wire.Missing{Group: 9}, &wire.Abort{Group: 9}} {
		assert.Empty(t, n.Receive(3, f), "%T", f)
	}
	assert.Empty(t, n.Receive(2, &wire.Say{}))
	assert.Empty(t, n.Lost(2, "no child of this one"))
}

func TestShape(t *testing.T) {
	for arity := 1; arity <= 5; arity++ {
		const nodes = 100
		parents := map[int]int{}
		for node := range nodes {
			first, count := Children(node, arity, nodes)
			for c := first; c < first+count; c++ {
				parents[c] = node
				assert.Equal(t, node, Parent(c, arity))
			}
		}
		assert.Len(t, parents, nodes-1)
		for node := 1; node < nodes; node++ {
			assert.True(t, Below(node, 0, arity))
			step := Toward(0, node, arity)
			assert.True(t, Below(node, step, arity))
			assert.Zero(t, Parent(step, arity))
			assert.Equal(t, node == 1 || parents[node] == 1, Below(node, 1, arity) && (node == 1 || Toward(1, node, arity) == node))
		}
	}
}

func TestBlocks(t *testing.T) {
	blocks := []wire.Block{{First: 1, Nodes: 2, PerNode: 2}, {First: 5, Nodes: 1, PerNode: 1}}
	assert.Equal(t, []int{0, 1, 5, 6}, Ranks(blocks, 1, 9))
	assert.Equal(t, []int{2, 3, 7, 8}, Ranks(blocks, 2, 9))
	assert.Equal(t, []int{4}, Ranks(blocks, 5, 9))
	assert.Empty(t, Ranks(blocks, 3, 9))
	assert.Empty(t, Ranks(nil, 1, 9))
	assert.Equal(t, "(vector,(0,2,2),(4,1,1))", Mapping(blocks))
}

func TestPages(t *testing.T) {
	var s store
	var pairs []wire.Pair
	for i := range 1000 {
		pairs = append(pairs, wire.Pair{Key: "k" + strconv.Itoa(i), Value: strings.Repeat("v", 100)})
	}
	assert.False(t, s.add(pairs))
	assert.False(t, s.add([]wire.Pair{{Key: "k7", Value: "another"}}), "the first value stays")
	page := s.page("k7")
	assert.Equal(t, pairs[7], page[0])
	bytes := 0
	for _, p := range page {
		bytes += size(p)
	}
	assert.InDelta(t, pageBytes, bytes, 200)
	assert.Equal(t, pairs[999:], s.page("k999"))
	assert.Nil(t, s.page("none"))
	s.bytes = storeBytesMax
	assert.True(t, s.add([]wire.Pair{{Key: "new"}}))
}

// The frames of a small job, for people to follow.
func TestTranscript(t *testing.T) {
	var said strings.Builder
	n, actions := New(Config{Node: 1, Arity: 2, Nodes: 6})
	show := func(actions []Action) {
		for _, a := range actions {
			to := map[int]string{Up: "up", Here: "here"}[a.To]
			if to == "" {
				to = fmt.Sprint(a.To)
			}
			fmt.Fprintf(&said, "    to %s: %s\n", to, text(a.Frame))
		}
	}
	say := func(from string, at int, f wire.Frame) {
		fmt.Fprintf(&said, "from %s: %s\n", from, text(f))
		show(n.Receive(at, f))
	}
	show(actions)
	say("3", 3, &wire.Up{})
	say("4", 4, &wire.Up{})
	say("up", Up, &wire.Start{Group: 0, Blocks: []wire.Block{{First: 1, Nodes: 5, PerNode: 1}}})
	for _, at := range []int{Here, 3, 4} {
		say(map[int]string{Here: "here", 3: "3", 4: "4"}[at], at, &wire.Started{})
	}
	say("here", Here, &wire.State{})
	say("here", Here, &wire.State{All: true})
	say("4", 4, &wire.State{})
	say("4", 4, &wire.State{All: true})
	say("3", 3, &wire.State{All: true})
	say("3", 3, &wire.Fence{Pairs: []wire.Pair{{Key: "card-2", Value: "c"}}, Last: true})
	say("here", Here, &wire.Fence{Pairs: []wire.Pair{{Key: "card-0", Value: "a"}}, Last: true})
	say("4", 4, &wire.Fence{Pairs: []wire.Pair{{Key: "card-3", Value: "d"}}, Last: true})
	say("up", Up, &wire.Release{Last: true})
	say("3", 3, &wire.Ask{Node: 3, Ask: 1, What: wire.AskGet, Key: "card-0"})
	say("3", 3, &wire.Ask{Node: 3, Ask: 2, What: wire.AskGet, Key: "card-4"})
	say("up", Up, &wire.Answer{Node: 3, Ask: 2, OK: true, Pairs: []wire.Pair{{Key: "card-4", Value: "e"}}})
	say("4", 4, &wire.Output{Rank: 3, Data: []byte("hello\n")})
	say("3", 3, &wire.Ended{Runs: []wire.Run{{Rank: 2, Count: 1, State: 2}}})
	say("4", 4, &wire.Ended{Runs: []wire.Run{{Rank: 3, Count: 1, State: 2}}, Done: true})
	say("here", Here, &wire.Ended{Runs: []wire.Run{{Rank: 0, Count: 1, Status: 9, State: 1, Process: 4711}}})
	say("up", Up, &wire.Signal{Number: 15, Ending: true})
	say("here", Here, &wire.Ended{Done: true})
	say("3", 3, &wire.Ended{Done: true})
	golden.Check(t, "testdata/node.txt", []byte(said.String()))
}

// text is a frame for people.
func text(f wire.Frame) string {
	return strings.Replace(fmt.Sprintf("%T%+v", f, f), "*wire.", "", 1)
}
