package core

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// lonely returns an engine, and a process that it knows and that never answers.
func lonely(t *testing.T) (*Engine, *Scope, *Proc) {
	net := bmitest.NewNetwork()
	open := func(name string) *bmi.Endpoint {
		ep, err := bmi.Open(context.Background(), bmi.Config{
			Listen: []string{"mem://" + name}, Manual: true,
			Options: map[string]any{bmitest.Name: bmitest.Options{Network: net}},
		})
		require.NoError(t, err)
		t.Cleanup(func() { _ = ep.Close() })
		return ep
	}
	open("b")
	e, err := New(Config{Endpoint: open("a"), Self: Card{ID: ProcID{1}}, Manual: true, Seed: 1})
	require.NoError(t, err)
	p, err := e.Proc(Card{ID: ProcID{2}, Addresses: []string{"mem://b"}})
	require.NoError(t, err)
	s, err := e.OpenScope(2, 0, []*Proc{e.self, p})
	require.NoError(t, err)
	return e, s, p
}

// A send that waited for the window finds no free id when the window has room again.
func TestNoNameLeftForABacklog(t *testing.T) {
	e, s, p := lonely(t)
	p.charged = windowMin + announcedBytes
	r, err := s.Isend(Synchronous, Buffer{Mem: make([]byte, 10)}, 1, 0)
	require.NoError(t, err)
	require.False(t, p.backlog.Empty())
	e.mu.Lock()
	e.sends.slots = make([]sendSlot, slotMask+1)
	p.credit(p.charged)
	e.mu.Unlock()
	_, ok, err := r.Test()
	require.True(t, ok)
	require.ErrorIs(t, err, errclass.NoMem)
}

// A wait for several requests ends if another goroutine collects all of them meanwhile.
func TestAllCollectedByAnother(t *testing.T) {
	e, s, _ := lonely(t)
	r, err := s.Isend(Standard, Buffer{Mem: []byte{1}}, 0, 0)
	require.NoError(t, err)
	_, ok, err := r.Test()
	require.True(t, ok)
	require.NoError(t, err)
	require.NoError(t, e.awaitAny(context.Background(), []Request{r, {}}))
}

// A process that never reads an answer is dropped in the end.
func TestAnswersAreBounded(t *testing.T) {
	e, s, p := lonely(t)
	_, err := s.Isend(Standard, Buffer{Mem: []byte{1}}, 1, 0)
	require.NoError(t, err)
	e.mu.Lock()
	defer e.mu.Unlock()
	p.route.answering, p.route.waiting = answersMax, slotMask
	ack := func() { p.route.post(wire.KindAck, wire.Ack{ID: 1}.Append(e.packetBuffer())) }
	ack()
	require.NoError(t, p.err)
	l := p.route
	ack()
	require.ErrorIs(t, p.err, errclass.ProcFailed)
	require.True(t, l.gone)
	require.True(t, l.answers.Empty())
}

// Messages are found by id as long as they are kept, and not after they were received or taken.
func TestTakeNamed(t *testing.T) {
	e, s, p := lonely(t)
	e.mu.Lock()
	defer e.mu.Unlock()
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, seed))
	kept := map[uint32]*early{}
	next := uint32(1)
	for range 20_000 {
		id := next - uint32(rng.IntN(200)) // possibly an id that was never used
		switch rng.IntN(5) {
		case 0, 1:
			m := e.newEarly(p, nil, matchbits.Bits(wire.MakeBits(2, 1, next)), 0)
			m.id = next
			e.keepEarly(m)
			kept[next] = m
			next++
		case 2: // received
			bits, mask, _, err := s.envelope(1, int(id&TagMax))
			require.NoError(t, err)
			m, ok := e.match.Take(bits, mask)
			require.Equal(t, kept[id] != nil, ok)
			if ok {
				require.Same(t, kept[id], m)
				p.earlies.Remove(&m.links)
				e.freeEarly(m)
				delete(kept, id)
			}
		default:
			m := p.takeNamed(id)
			require.True(t, m == kept[id], "seed %d, id %d", seed, id)
			if m != nil {
				e.freeEarly(m)
				delete(kept, id)
			}
		}
		require.Equal(t, len(kept), p.earlies.Len())
		require.LessOrEqual(t, len(p.names), 2*len(kept)+300)
	}
}
