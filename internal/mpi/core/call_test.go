package core_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/coretest"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// An echo is a Server that answers with a 1 and the body that it got. It keeps the calls that wait.
// Of the others it records the numbers at the beginning, by rank.
type echo struct {
	got  [3][]uint32
	kept []core.Reply
	lost []int
}

func (s *echo) Serve(rank int, body []byte, r core.Reply, answer []byte) ([]byte, bool, error) {
	if r.Waits() {
		s.kept = append(s.kept, r)
		return nil, true, nil
	}
	if len(body) >= 4 {
		s.got[rank] = append(s.got[rank], binary.LittleEndian.Uint32(body))
	}
	return append(append(answer, 1), body...), false, nil
}

func (s *echo) Lost(rank int) { s.lost = append(s.lost, rank) }

// sayings is a Caller whose calls are numbered from a first one on, each with some bytes.
type sayings struct {
	calls, bytes int
	first        uint32
	made         int
	back         map[int]bool
	ended        int
	err          error
}

func (c *sayings) Next(b []byte, room int) ([]byte, bool) {
	b = binary.LittleEndian.AppendUint32(b, c.first+uint32(c.made))
	b = append(b, make([]byte, min(c.bytes, room-5))...)
	c.made++
	return b, c.made == c.calls
}

func (c *sayings) Returned(n int, body []byte) (error, bool) {
	if len(body) < 5 || body[0] != 1 {
		return errWrongAnswer, true
	}
	if got := binary.LittleEndian.Uint32(body[1:]); got != c.first+uint32(n) || c.back[n] {
		return fmt.Errorf("%w: number %d to call %d", errWrongAnswer, got, n), false
	}
	if c.back == nil {
		c.back = make(map[int]bool)
	}
	c.back[n] = true
	return nil, false
}

func (c *sayings) Ended(err error) {
	c.ended++
	c.err = err
}

var errWrongAnswer = errors.New("a wrong answer")

// A callWorld is processes on a fabric, in one goroutine.
type callWorld struct {
	fabric  coretest.Fabric
	nodes   []*node
	servers []*echo
}

func newCallWorld(t *testing.T, f coretest.Fabric, n int) *callWorld {
	w := &callWorld{fabric: f}
	var cards []core.Card
	for rank := range n {
		cfg := f.Config(rank)
		cfg.Manual = true
		ep, err := bmi.Open(t.Context(), cfg)
		require.NoError(t, err)
		card := core.Card{ID: core.ProcID{byte(rank + 1)}, Addresses: ep.Addresses()}
		e, err := core.New(core.Config{Endpoint: ep, Self: card, Manual: true, Seed: 1})
		require.NoError(t, err)
		cards = append(cards, card)
		w.nodes = append(w.nodes, &node{t: t, ep: ep, e: e, card: card})
		w.servers = append(w.servers, &echo{})
	}
	for rank, d := range w.nodes {
		for _, c := range cards {
			p, err := d.e.Proc(c)
			require.NoError(t, err)
			d.all = append(d.all, p)
		}
		d.s = d.scope(2, rank, d.all)
		d.s.Serve(w.servers[rank])
		t.Cleanup(d.kill)
	}
	return w
}

func (w *callWorld) step() {
	if w.fabric.Step != nil {
		w.fabric.Step()
	}
	for _, d := range w.nodes {
		d.e.Progress()
	}
}

// until steps until all requests have ended, and returns their errors.
func (w *callWorld) until(t *testing.T, rs []core.Request) (errs []error) {
	const stepsMax = 2_000_000
	steps := 0
	for i, r := range rs {
		for {
			_, done, err := r.Test()
			if done {
				errs = append(errs, err)
				break
			}
			if steps++; steps > stepsMax {
				require.Fail(t, "it hangs", "request %d", i)
			}
			w.step()
		}
	}
	return errs
}

// callSeeds returns how many seeds the tests of calls use.
func callSeeds() uint64 {
	if testing.Short() {
		return 2
	}
	return 20
}

// fabrics are networks in virtual time, which lose, delay and duplicate, and memory.
func fabrics(seed uint64) map[string]coretest.Fabric {
	return map[string]coretest.Fabric{
		"mem": modelMemory(true), "nic": modelSimulatedNIC(seed), "udp": modelSimulatedUDP(seed), "tcp": modelSimulatedTCP(seed),
	}
}

// TestCallsInOrder: over any simulated network, each call is executed once and gets its own answer,
// and the calls from one rank to another are executed in order.
func TestCallsInOrder(t *testing.T) {
	for seed := range callSeeds() {
		for name, f := range fabrics(seed) {
			t.Run(fmt.Sprintf("seed=%d/over=%s", seed, name), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 6))
				w := newCallWorld(t, f, 3)
				var rs []core.Request
				var callers []*sayings
				var next [3][3]uint32
				for range 40 {
					from, to := rng.IntN(3), rng.IntN(3)
					c := &sayings{calls: 1 + rng.IntN(100), bytes: rng.IntN(3) * rng.IntN(5000), first: next[from][to]}
					next[from][to] += uint32(c.calls)
					r, err := w.nodes[from].s.Call(to, false, c.bytes, c)
					require.NoError(t, err)
					rs, callers = append(rs, r), append(callers, c)
					for range rng.IntN(20) {
						w.step()
					}
				}
				for i, err := range w.until(t, rs) {
					require.NoError(t, err)
					require.Equal(t, 1, callers[i].ended)
					require.Len(t, callers[i].back, callers[i].calls)
				}
				for to, s := range w.servers {
					for from := range s.got {
						require.Len(t, s.got[from], int(next[from][to]))
						for i, n := range s.got[from] {
							require.EqualValues(t, i, n, "from %d to %d", from, to)
						}
					}
				}
			})
		}
	}
}

// TestCallsOfTheDead: a process dies. Calls to it end. Its own calls are answered, but nobody
// receives the answers.
func TestCallsOfTheDead(t *testing.T) {
	for seed := range callSeeds() {
		for name, f := range fabrics(seed) {
			if f.Crash == nil {
				continue
			}
			t.Run(fmt.Sprintf("seed=%d/over=%s", seed, name), func(t *testing.T) {
				w := newCallWorld(t, f, 3)
				var rs []core.Request
				begin := func(from, to int, waits bool, c *sayings) {
					r, err := w.nodes[from].s.Call(to, waits, c.bytes, c)
					require.NoError(t, err)
					rs = append(rs, r)
				}
				begin(0, 1, true, &sayings{calls: 1})
				begin(1, 0, true, &sayings{calls: 1})
				for len(w.servers[0].kept) == 0 || len(w.servers[1].kept) == 0 {
					w.step()
				}
				begin(0, 1, false, &sayings{calls: 1000, bytes: 4000})
				rs = append(rs[:1], rs[2:]...) // the request of the process that dies is not collected
				f.Crash(1)
				for _, err := range w.until(t, rs) {
					require.ErrorIs(t, err, errclass.ProcFailed)
				}
				assert.Equal(t, []int{1}, w.servers[0].lost)
				w.nodes[0].s.Return(w.servers[0].kept[0], []byte{1})
				rs = nil
				begin(0, 1, false, &sayings{calls: 1})
				require.ErrorIs(t, w.until(t, rs)[0], errclass.ProcFailed)
			})
		}
	}
}

// TestCallsWithoutAServer: the answer is empty.
func TestCallsWithoutAServer(t *testing.T) {
	w := newCallWorld(t, modelMemory(true), 2)
	w.nodes[1].s.Serve(nil)
	assert.Equal(t, []int{0, 1}, w.servers[1].lost)
	require.NoError(t, w.nodes[1].s.Close()) // as if it were freed there already
	for to := range 2 {
		w.nodes[to].s.Serve(nil)
		r, err := w.nodes[0].s.Call(to, false, 0, &sayings{calls: 1})
		require.NoError(t, err)
		require.ErrorIs(t, w.until(t, []core.Request{r})[0], errWrongAnswer)
	}
}

// TestUnreadReturns: a process that makes calls and does not read the answers is dropped before it
// takes much memory.
func TestUnreadReturns(t *testing.T) {
	for name, server := range map[string]core.Server{"kept": &keepAll{}, "answered": &echo{}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			defer s.close()
			a := s.nodes[0]
			a.s.Serve(server)
			s.say(wire.KindHello, s.hello().Append(nil))
			calls := uint32(0)
			for ; a.all[2].Err() == nil && calls < 8000; calls++ {
				s.say(wire.KindCall, wire.Call{ID: calls + 1, Context: 2, Rank: 2}.Append(nil))
			}
			require.ErrorIs(t, a.all[2].Err(), errclass.ProcFailed)
			s.talk()
		})
	}
}

// keepAll keeps all calls.
type keepAll struct{}

func (*keepAll) Serve(int, []byte, core.Reply, []byte) ([]byte, bool, error) {
	return nil, true, nil
}

func (*keepAll) Lost(int) {}
