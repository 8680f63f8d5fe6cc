package matchbits

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func expected(id PeerID, tag uint32) Bits { return Make(TypeExpected, 0, id, tag) }

func arrives(t *testing.T, e *Engine[string, string], bits Bits, want string) {
	t.Helper()
	got, ok := e.Arrive(bits)
	assert.True(t, ok, "%v found no receive", bits)
	assert.Equal(t, want, got)
}

func takes(t *testing.T, e *Engine[string, string], bits, ignore Bits, want string) {
	t.Helper()
	got, ok := e.Take(bits, ignore)
	assert.True(t, ok, "%v found no message", bits)
	assert.Equal(t, want, got)
}

func TestOldestReceiveWinsAcrossExactAndWildcard(t *testing.T) {
	e := New[string, string](Options{})
	e.Post(expected(1, 5), MaskNone, "exact 1")
	e.Post(expected(1, 0), MaskTag, "any tag")
	e.Post(expected(1, 5), MaskNone, "exact 2")
	e.Post(0, MaskAll, "anything")
	e.Post(expected(2, 5), MaskNone, "other peer")

	arrives(t, e, expected(1, 5), "exact 1")
	arrives(t, e, expected(1, 5), "any tag")
	arrives(t, e, expected(1, 5), "exact 2")
	arrives(t, e, expected(2, 5), "anything")
	arrives(t, e, expected(2, 5), "other peer")
	_, ok := e.Arrive(expected(2, 5))
	assert.False(t, ok)
}

func TestOldestMessageWins(t *testing.T) {
	e := New[string, string](Options{})
	e.Keep(expected(2, 9), "a")
	e.Keep(expected(1, 5), "b")
	e.Keep(expected(1, 6), "c")
	e.Keep(expected(1, 5), "d")

	got, ok := e.Peek(expected(1, 0), MaskTag)
	assert.True(t, ok)
	assert.Equal(t, "b", got)
	assert.Equal(t, 4, e.KeptLen())

	takes(t, e, expected(1, 6), MaskNone, "c")
	takes(t, e, expected(1, 0), MaskTag, "b")
	takes(t, e, 0, MaskAll, "a")
	takes(t, e, expected(1, 5), MaskNone, "d")
	_, ok = e.Take(0, MaskAll)
	assert.False(t, ok)
	_, ok = e.Peek(expected(1, 5), MaskNone)
	assert.False(t, ok)
}

func TestCreditsAndReservedBitsDoNotMatter(t *testing.T) {
	e := New[string, string](Options{})
	e.Post(expected(1, 5).WithCredits(3), MaskNone, "a")
	arrives(t, e, expected(1, 5).WithCredits(9)|MaskReserved, "a")
	e.Keep(expected(1, 5).WithCredits(9), "b")
	takes(t, e, expected(1, 5), MaskCredits, "b")
}

func TestTypeMatters(t *testing.T) {
	e := New[string, string](Options{})
	e.Post(expected(1, 5), MaskNone, "a")
	_, ok := e.Arrive(Make(TypeRTS, 0, 1, 5))
	assert.False(t, ok)
	e.Post(expected(1, 6), MaskType, "b")
	arrives(t, e, Make(TypeRTS, 0, 1, 6), "b")
}

func TestALayerMayHaveALayoutOfItsOwn(t *testing.T) {
	e := New[string, string](Options{Significant: MaskAll})
	e.Post(MaskCredits, MaskNone, "a")
	_, ok := e.Arrive(0)
	assert.False(t, ok)
	arrives(t, e, MaskCredits, "a")
}

func TestStaleRefsAreRecognised(t *testing.T) {
	e := New[string, string](Options{})
	_, ok := e.RemovePosted(Ref{})
	assert.False(t, ok)

	old := e.Post(expected(1, 5), MaskNone, "old")
	arrives(t, e, expected(1, 5), "old")
	young := e.Post(expected(1, 5), MaskNone, "young")
	require.Equal(t, old.index, young.index, "the test wants the entry to be used again")
	_, ok = e.RemovePosted(old)
	assert.False(t, ok)
	_, ok = e.RemoveKept(young)
	assert.False(t, ok)
	_, ok = e.RemovePosted(RefOf([2]uint64{young.seq, 1 << 30}))
	assert.False(t, ok)
	got, ok := e.RemovePosted(RefOf(young.Words()))
	assert.True(t, ok)
	assert.Equal(t, "young", got)
}

func TestRemovalKeepsTheOrderOfTheRest(t *testing.T) {
	for drop := range 4 {
		e := New[string, string](Options{})
		var posted, kept []Ref
		names := []string{"a", "b", "c", "d"}
		for _, name := range names {
			posted = append(posted, e.Post(expected(1, 5), MaskNone, name))
			kept = append(kept, e.Keep(expected(1, 5), name))
		}
		got, ok := e.RemovePosted(posted[drop])
		assert.True(t, ok)
		assert.Equal(t, names[drop], got)
		got, ok = e.RemoveKept(kept[drop])
		assert.True(t, ok)
		assert.Equal(t, names[drop], got)
		for i, name := range names {
			if i != drop {
				arrives(t, e, expected(1, 5), name)
				takes(t, e, expected(1, 5), MaskNone, name)
			}
		}
		assert.Zero(t, e.PostedLen()+e.KeptLen())
	}
}

func TestRemovedItemsCanBeCollected(t *testing.T) {
	e := New[*[64]byte, *[64]byte](Options{})
	collected := make(chan struct{})
	func() {
		item := new([64]byte)
		runtime.AddCleanup(item, func(c chan struct{}) { close(c) }, collected)
		e.Post(expected(1, 1), MaskNone, item)
		e.Arrive(expected(1, 1))
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-collected:
			return
		default:
			runtime.Gosched()
		}
	}
	t.Fatal("the engine still refers to an item that it returned")
}

// No operation allocates once the engine has had its largest number of entries.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	const others = 1000
	item := new(int)
	e := New[*int, *int](Options{})
	for tag := range uint32(others) {
		e.Post(expected(2, tag), MaskNone, item)
		e.Keep(expected(2, tag), item)
	}
	tag := uint32(0)
	rounds := map[string]func(){
		"post and arrive": func() {
			e.Post(expected(1, tag), MaskNone, item)
			e.Arrive(expected(1, tag))
		},
		"post a wildcard and arrive": func() {
			e.Post(expected(1, 0), MaskTag, item)
			e.Arrive(expected(1, tag))
		},
		"keep, peek and take": func() {
			e.Keep(expected(1, tag), item)
			e.Peek(expected(1, tag), MaskNone)
			e.Take(expected(1, tag), MaskNone)
		},
		"keep and take by wildcard": func() {
			e.Keep(expected(1, tag), item)
			e.Take(expected(1, 0), MaskTag)
		},
		"remove": func() {
			e.RemovePosted(e.Post(expected(1, tag), MaskNone, item))
			e.RemoveKept(e.Keep(expected(1, tag), item))
		},
		"many with the same bits": func() {
			for range 20 {
				e.Post(expected(1, 7), MaskNone, item)
			}
			for range 20 {
				e.Arrive(expected(1, 7))
			}
		},
	}
	for name, round := range rounds {
		for range 100 {
			round() // reaches the largest number of entries
		}
		allocs := testing.AllocsPerRun(5000, func() { round(); tag++ })
		assert.Zero(t, allocs, name)
		assert.Equal(t, others, e.PostedLen(), name)
		assert.Equal(t, others, e.KeptLen(), name)
	}
}
