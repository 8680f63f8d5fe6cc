package matchbits

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pair drives the engine and the model side by side; they must always give the
// same answers.
type pair struct {
	t      require.TestingT
	engine *Engine[*int, *int]
	model  *model

	posted, kept []namedRef // also of entries long gone: stale Refs must be recognised
	items        int
	step         int
}

type namedRef struct {
	ref Ref
	id  int
}

func newPair(t require.TestingT, o Options) *pair {
	e := New[*int, *int](o)
	return &pair{t: t, engine: e, model: &model{significant: e.significant}}
}

// do performs one operation. Small universes of bits and masks, chosen by the
// caller, make matches and ties frequent.
func (p *pair) do(op byte, bits, ignore Bits, pick int) {
	p.step++
	switch op % 9 {
	case 0, 1: // twice as likely, so that the queues grow
		item := p.newItem()
		ref := p.engine.Post(bits, ignore, item)
		p.posted = append(p.posted, namedRef{ref, p.model.post(bits, ignore, *item)})
	case 2:
		item := p.newItem()
		ref := p.engine.Keep(bits, item)
		p.kept = append(p.kept, namedRef{ref, p.model.keep(bits, *item)})
	case 3:
		p.same("Arrive")(p.engine.Arrive(bits))(p.model.arrive(bits))
	case 4:
		p.same("Peek")(p.engine.Peek(bits, ignore))(p.model.peek(bits, ignore))
	case 5:
		p.same("Take")(p.engine.Take(bits, ignore))(p.model.take(bits, ignore))
	case 6:
		if len(p.posted) > 0 {
			r := p.posted[pick%len(p.posted)]
			p.same("RemovePosted")(p.engine.RemovePosted(r.ref))(p.model.removePosted(r.id))
			_, ok := p.engine.RemoveKept(r.ref)
			p.refused(ok, "kept")
		}
	case 7:
		if len(p.kept) > 0 {
			r := p.kept[pick%len(p.kept)]
			p.same("RemoveKept")(p.engine.RemoveKept(r.ref))(p.model.removeKept(r.id))
			_, ok := p.engine.RemovePosted(r.ref)
			p.refused(ok, "posted")
		}
	case 8:
		if pick%8 == 0 { // rarely, or nothing would ever queue up
			p.empty()
		}
	}
	if len(p.model.posted) != p.engine.PostedLen() || len(p.model.kept) != p.engine.KeptLen() {
		require.Fail(p.t, "wrong length", "step %d: posted %d, want %d; kept %d, want %d", p.step,
			p.engine.PostedLen(), len(p.model.posted), p.engine.KeptLen(), len(p.model.kept))
	}
}

func (p *pair) refused(ok bool, side string) {
	if ok {
		require.Fail(p.t, "wrong side", "step %d: a Ref of the other side was good on the %s side", p.step, side)
	}
}

func (p *pair) newItem() *int {
	p.items++
	item := p.items
	return &item
}

func (p *pair) same(what string) func(*int, bool) func(int, bool) {
	return func(got *int, ok bool) func(int, bool) {
		return func(want int, wantOK bool) {
			// Plain comparisons first: this runs millions of times when fuzzed.
			if ok == wantOK && (ok && *got == want || !ok && got == nil) {
				return
			}
			require.Equal(p.t, wantOK, ok, "step %d: %s found something", p.step, what)
			require.True(p.t, ok, "step %d: %s found nothing but returned an item", p.step, what)
			require.Equal(p.t, want, *got, "step %d: %s chose the wrong entry", p.step, what)
		}
	}
}

// empty takes out everything by its Ref: receives oldest first, messages youngest first.
func (p *pair) empty() {
	for _, r := range p.posted {
		p.same("RemovePosted")(p.engine.RemovePosted(r.ref))(p.model.removePosted(r.id))
	}
	for _, r := range slices.Backward(p.kept) {
		p.same("RemoveKept")(p.engine.RemoveKept(r.ref))(p.model.removeKept(r.id))
	}
}

// drain empties both and checks that nothing is left, in the lists and in the
// counts, and that no reference to a removed item remains.
func (p *pair) drain() {
	p.empty()
	for _, s := range []*side[*int]{&p.engine.posted, &p.engine.kept} {
		require.Zero(p.t, s.length)
		require.Zero(p.t, s.first)
		require.Zero(p.t, s.last)
		require.Zero(p.t, s.table.used)
		inUse := slices.IndexFunc(s.table.slots, func(s slot) bool { return s.head != 0 || s.over != 0 })
		require.Equal(p.t, -1, inUse, "a slot is still in use")
		held := slices.IndexFunc(s.entries, func(e entry[*int]) bool { return e.item != nil })
		require.Equal(p.t, -1, held, "a free entry still holds its item")
	}
}

// universe makes bits of few types, peers and tags from random ones, with
// credits that must not matter.
func universe(r uint64) Bits {
	types := [...]Type{TypeExpected, TypeUnexpected, TypeRTS}
	t := types[r>>16%uint64(len(types))]
	return Make(t, uint8(r>>24)&CreditsMax, PeerID(1+r>>8%3), uint32(r%6)<<(r>>32%2*9))
}

var ignores = [...]Bits{MaskNone, MaskNone, MaskNone, MaskTag, MaskPeerID, MaskTag | MaskPeerID, MaskCredits, MaskAll, 1}

func TestEngineAgreesWithTheModel(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 10
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			p := newPair(t, Options{Seed: seed})
			for range 3000 {
				p.do(byte(r.Uint32()), universe(r.Uint64()), ignores[r.IntN(len(ignores))], r.IntN(1<<30))
			}
			p.drain()
		})
	}
}

// With a layout of its own a layer may use all 64 bits.
func TestEngineAgreesWithTheModelOnEveryBit(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 2))
	p := newPair(t, Options{Seed: seed, Significant: MaskAll})
	for range 20000 {
		p.do(byte(r.Uint32()), Bits(1)<<r.IntN(64), ignores[r.IntN(len(ignores))], r.IntN(1<<30))
	}
	p.drain()
}

// Each operation takes five bytes: the operation, three that choose bits and
// mask, and one that chooses a Ref.
func FuzzEngine(f *testing.F) {
	f.Add(uint64(0), []byte{})
	f.Add(uint64(1), []byte("\x00aaa\x00\x03aaa\x00"))
	f.Add(uint64(2), []byte("\x00ab\x03\x00\x00ab\x00\x00\x03ab\x00\x00\x03ab\x00\x00"))
	f.Add(uint64(3), []byte("\x02abc\x00\x02abc\x00\x04ab\x07\x00\x07abc\x01\x05ab\x07\x00"))
	f.Add(uint64(4), []byte("\x01abc\x00\x01abc\x00\x06abc\x01\x08abc\x00"))
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		if len(ops) > 5*2000 {
			t.Skip("the model is quadratic")
		}
		p := newPair(t, Options{Seed: seed})
		for ; len(ops) >= 5; ops = ops[5:] {
			r := uint64(ops[1])<<8 | uint64(ops[2]) | uint64(ops[1]^ops[2])<<16 | uint64(ops[3])<<24 | uint64(ops[3])<<32
			p.do(ops[0], universe(r), ignores[int(ops[3])%len(ignores)], int(ops[4]))
		}
		p.drain()
	})
}
