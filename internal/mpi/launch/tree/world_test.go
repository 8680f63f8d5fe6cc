package tree

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
)

// world is a launcher, its agents and their processes, with links that keep the order of frames.
type world struct {
	t     *testing.T
	r     *rand.Rand
	arity int
	nodes []*Node
	hosts []*host
	dead  []bool
	queue map[edge][]wire.Frame
	busy  []edge // those with frames, and maybe some without
	to    map[edge]bool

	blocks []wire.Block
	size   int
	// What the launcher learned.
	up, started, done, ending bool
	state                     []bool
	lost                      []int
	missing                   *wire.Missing
	ends                      map[int]wire.Run
	output                    map[int]int // bytes of each rank
	took                      int

	messages []int // sent and received, by node
	pieces   []int // those of them that are pieces of pairs, except for the first piece
}

// edge is a link in one direction.
type edge struct{ from, to int }

// host is the processes of a node: they call Init, put a card and fence, ask for others' cards, fence
// and end.
type host struct {
	ranks   []int
	started bool
	phase   int
	waits   bool
	asks    map[int]string
	left    int  // of the output window
	ended   bool // all have ended
	dies    int  // phase in which the first rank is killed; -1: never
	writes  int  // pieces of output left for each rank
}

const theGroup = 1

func newWorld(t *testing.T, seed uint64, hosts, perHost, arity int) *world {
	w := &world{
		t: t, r: rand.New(rand.NewPCG(seed, 1)), arity: arity, queue: map[edge][]wire.Frame{}, to: map[edge]bool{},
		size: hosts * perHost, blocks: []wire.Block{{First: 1, Nodes: hosts, PerNode: perHost}},
		ends: map[int]wire.Run{}, output: map[int]int{}, dead: make([]bool, hosts+1),
		messages: make([]int, hosts+1), pieces: make([]int, hosts+1),
	}
	for i := range hosts + 1 {
		n, actions := New(Config{Node: i, Arity: arity, Nodes: hosts + 1})
		w.nodes = append(w.nodes, n)
		w.hosts = append(w.hosts, &host{ranks: Ranks(w.blocks, i, w.size), asks: map[int]string{}, dies: -1, left: OutputWindow, writes: 3})
		w.act(i, actions)
	}
	return w
}

func card(rank int) string { return fmt.Sprintf("mpi-card-%d", rank) }

// value is as long as a card of two methods.
func value(rank int) string { return fmt.Sprintf("%0100d", rank) }

func (w *world) act(at int, actions []Action) {
	for _, a := range actions {
		switch {
		case a.To == Here:
			w.takeHere(at, a.Frame)
		case a.To == Up && at == 0:
			w.takeLauncher(a.Frame)
		case a.To == Up:
			w.send(at, Parent(at, w.arity), a.Frame)
		default:
			require.NotNil(w.t, a.Frame, "nobody breaks a window")
			w.send(at, a.To, a.Frame)
		}
	}
}

func (w *world) send(from, to int, f wire.Frame) {
	if w.dead[from] || w.dead[to] {
		return
	}
	w.messages[from]++
	w.messages[to]++
	piece := false
	switch f := f.(type) {
	case *wire.Fence:
		piece = !f.Last
	case *wire.Release:
		piece = !f.Last
	case *wire.Ask, *wire.Answer:
		piece = true // one for each pair that is asked for
	}
	if piece {
		w.pieces[from]++
		w.pieces[to]++
	}
	e := edge{from, to}
	w.queue[e] = append(w.queue[e], f)
	if !w.to[e] {
		w.to[e] = true
		w.busy = append(w.busy, e)
	}
}

// tell takes a frame of the processes of a node, and say one of the launcher.
func (w *world) tell(at int, f wire.Frame) { w.act(at, w.nodes[at].Receive(Here, f)) }
func (w *world) say(f wire.Frame)          { w.act(0, w.nodes[0].Receive(Up, f)) }

// deliver delivers one frame of some link; false means that there is none.
func (w *world) deliver() bool {
	for len(w.busy) > 0 {
		i := w.r.IntN(len(w.busy))
		e := w.busy[i]
		q := w.queue[e]
		if len(q) == 0 || w.dead[e.to] {
			w.busy[i] = w.busy[len(w.busy)-1]
			w.busy = w.busy[:len(w.busy)-1]
			delete(w.to, e)
			delete(w.queue, e)
			continue
		}
		f := q[0]
		w.queue[e] = q[1:]
		from := e.from
		if Parent(e.to, w.arity) == e.from && e.to != 0 {
			from = Up
		}
		w.act(e.to, w.nodes[e.to].Receive(from, f))
		return true
	}
	return false
}

// kill kills an agent: its frames that are under way still arrive, perhaps, and those below it end.
func (w *world) kill(at int) {
	if w.dead[at] {
		return
	}
	for i := range w.dead {
		if Below(i, at, w.arity) {
			w.dead[i] = true
		}
	}
	up := edge{at, Parent(at, w.arity)}
	for n := w.r.IntN(len(w.queue[up]) + 1); n > 0; n-- {
		f := w.queue[up][0]
		w.queue[up] = w.queue[up][1:]
		w.act(up.to, w.nodes[up.to].Receive(at, f))
	}
	delete(w.queue, up)
	w.act(up.to, w.nodes[up.to].Lost(at, "it was killed"))
}

// takeLauncher is the launcher: it ends the job when something goes wrong.
func (w *world) takeLauncher(f wire.Frame) {
	switch f := f.(type) {
	case *wire.Up:
		require.False(w.t, w.up)
		w.up = true
	case *wire.Started:
		w.started = true
	case *wire.State:
		w.state = append(w.state, f.All)
	case *wire.Missing:
		require.Nil(w.t, w.missing, "one answer")
		w.missing = f
	case *wire.Lost:
		w.lost = append(w.lost, f.Node)
		w.end()
	case *wire.Output:
		w.output[f.Rank] += len(f.Data)
		w.took += len(f.Data)
	case *wire.Ended:
		require.False(w.t, w.done, "nothing comes after the last end")
		for _, r := range f.Runs {
			for i := range r.Count {
				_, twice := w.ends[r.Rank+i]
				require.False(w.t, twice, "rank %d ends twice", r.Rank+i)
				w.ends[r.Rank+i] = r
			}
			if r.Status != 0 {
				w.end()
			}
		}
		w.done = f.Done
	}
}

func (w *world) end() {
	if !w.ending {
		w.ending = true
		w.say(&wire.Signal{Group: theGroup, Number: 15, Ending: true})
	}
}

// takeHere delivers a frame to the processes of a node.
func (w *world) takeHere(at int, f wire.Frame) {
	h := w.hosts[at]
	switch f := f.(type) {
	case *wire.Start:
		h.started = true
		w.tell(at, &wire.Started{Group: theGroup})
	case *wire.Release:
		if f.Last {
			require.True(w.t, h.waits, "node %d waits in no fence", at)
			h.waits = false
		}
	case *wire.Answer:
		key := h.asks[f.Ask]
		delete(h.asks, f.Ask)
		require.True(w.t, f.OK, key)
		require.Equal(w.t, key, f.Pairs[0].Key)
		var rank int
		_, err := fmt.Sscanf(key, "mpi-card-%d", &rank)
		require.NoError(w.t, err)
		require.Equal(w.t, value(rank), f.Pairs[0].Value)
	case *wire.Signal:
		w.finish(at, f.Number)
	case *wire.OutputTaken:
		h.left += f.Bytes
		require.LessOrEqual(w.t, h.left, OutputWindow)
	case *wire.Who:
		w.tell(at, &wire.Missing{Group: theGroup, Ranks: h.ranks[:1], More: len(h.ranks) - 1})
	}
}

// finish ends all processes of a node.
func (w *world) finish(at, status int) {
	h := w.hosts[at]
	if h.ended {
		return
	}
	h.ended = true
	for i, rank := range h.ranks {
		if i == 0 && h.dies == -2 {
			continue // it has ended
		}
		w.tell(at, &wire.Ended{Group: theGroup, Runs: []wire.Run{{Rank: rank, Count: 1, Status: status, State: map[bool]int{true: 2, false: 1}[status == 0]}}})
	}
	w.tell(at, &wire.Ended{Group: theGroup, Done: true})
}

// step lets the processes of a node go on; false means that they cannot.
func (w *world) step(at int) bool {
	h := w.hosts[at]
	if w.dead[at] || !h.started || h.ended || h.waits || len(h.asks) > 0 {
		return false
	}
	if h.dies == h.phase {
		h.dies = -2
		w.tell(at, &wire.Ended{Group: theGroup, Runs: []wire.Run{{Rank: h.ranks[0], Count: 1, Status: 9, State: min(h.phase, 1)}}})
		return true
	}
	if h.dies == -2 {
		return false // the others wait for it
	}
	switch h.phase {
	case 0:
		w.tell(at, &wire.State{Group: theGroup})
		w.tell(at, &wire.State{Group: theGroup, All: true})
	case 1, 3:
		h.waits = true
		f := &wire.Fence{Group: theGroup, Last: true}
		if h.phase == 1 {
			for _, rank := range h.ranks {
				f.Pairs = append(f.Pairs, wire.Pair{Key: card(rank), Value: value(rank)})
			}
		}
		w.tell(at, f)
	case 2:
		for i := range 2 {
			rank := w.r.IntN(w.size)
			h.asks[i] = card(rank)
			w.tell(at, &wire.Ask{Node: at, Ask: i, Group: theGroup, Rank: h.ranks[0], What: wire.AskGet, Key: card(rank)})
		}
	case 4:
		if h.writes > 0 {
			const bytes = wire.OutputBytesMax
			if h.left < bytes {
				return false
			}
			h.left -= bytes
			h.writes--
			w.tell(at, &wire.Output{Group: theGroup, Rank: h.ranks[0], Data: make([]byte, bytes)})
			return true
		}
		w.finish(at, 0)
	}
	h.phase++
	return true
}

// run plays until the launcher knows that all have ended. disturb is called before every step.
func (w *world) run(disturb func(step int)) {
	stuck := 0
	for step := 0; !w.done; step++ {
		disturb(step)
		moved := false
		if w.r.IntN(2) == 0 {
			moved = w.step(1 + w.r.IntN(len(w.nodes)-1))
		}
		if !moved {
			moved = w.deliver()
		}
		// The launcher writes output now and then.
		if w.took > 0 && w.r.IntN(4) == 0 {
			n := w.took
			w.took = 0
			w.say(&wire.OutputTaken{Bytes: n})
			moved = true
		}
		if moved {
			stuck = 0
		} else if stuck++; stuck > 40*len(w.nodes) {
			require.FailNow(w.t, "nothing moves, and the job has not ended")
		}
	}
	for w.deliver() {
	}
	for at, h := range w.hosts[1:] {
		require.True(w.t, h.ended || w.dead[at+1], "the processes of node %d are left", at+1)
	}
}
