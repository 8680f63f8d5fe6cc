package matchbits

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// looks is the number of slots that a search for key looks at.
func (t *table) looks(key Bits) int {
	hash := t.hash(key)
	s := &t.slots[t.place(key, hash)]
	n := 1
	for (s.key != key || s.head == 0) && s.over >= passed {
		hash = again(hash)
		s = &t.slots[t.place(key, hash)]
		n++
	}
	return n
}

func TestTableFindsWhatIsThereAndNothingElse(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 0))
	tab := newTable(0, seed)
	want := make(map[Bits]uint32)
	for step := range 200_000 {
		key := Bits(r.IntN(3000)) << (r.IntN(3) * 20)
		at := tab.find(key)
		head, there := want[key]
		require.Equal(t, there, at != nowhere, "step %d", step)
		switch {
		case there:
			require.Equal(t, head, tab.slots[at].head, "step %d", step)
			if r.IntN(3) > 0 {
				tab.remove(at)
				delete(want, key)
			}
		default:
			head = 1 + r.Uint32N(1<<30)
			tab.insert(key, head)
			want[key] = head
		}
		require.Equal(t, len(want), tab.used)
	}
}

func TestConsecutiveTagsAreNeighbours(t *testing.T) {
	tab := newTable(1<<12, 1)
	first := expected(3, 1<<blockBits)
	tab.insert(first, 1)
	at := tab.find(first)
	for k := range 1<<blockBits - 1 {
		key := first + Bits(k) + 1
		tab.insert(key, 1)
		require.Equal(t, (at+k+1)%len(tab.slots), tab.find(key))
	}
}

// Whatever pattern of tags a hostile peer chooses, without the seed it causes
// only ordinary collisions.
func TestPatternsOfTagsDoNotMakeSearchesLong(t *testing.T) {
	patterns := map[string]func(i int) Bits{
		"consecutive":        func(i int) Bits { return expected(1, uint32(i)) },
		"stride of a run":    func(i int) Bits { return expected(1, uint32(i)<<blockBits) },
		"stride of 64 Ki":    func(i int) Bits { return expected(1, uint32(i)<<16) + Bits(i>>16) },
		"a million peers":    func(i int) Bits { return expected(PeerID(1+i), 0) },
		"high bits of tags":  func(i int) Bits { return expected(1, uint32(i)<<12|uint32(i)>>20) },
		"half runs, by peer": func(i int) Bits { return expected(PeerID(1+i>>7), uint32(i&127)) },
	}
	const keys = 1 << 16
	for name, pattern := range patterns {
		for seed := range uint64(5) {
			tab := newTable(0, seed)
			for i := range keys {
				if key := pattern(i); tab.find(key) == nowhere {
					tab.insert(key, 1)
				}
			}
			total, longest := 0, 0
			for i := range keys {
				n := tab.looks(pattern(i))
				total += n
				longest = max(longest, n)
			}
			assert.Less(t, float64(total)/keys, 2.0, "%s, seed %d: mean looks", name, seed)
			assert.LessOrEqual(t, longest, searchMax/2, "%s, seed %d: longest search", name, seed)
		}
	}
}

// A peer that knows the seed can take every slot of a victim's search. The table
// then takes the next seed, once enough ordinary insertions have paid for that.
func TestCollisionsBuiltWithTheSeedMeetANewOne(t *testing.T) {
	tab := newTable(1<<10, 9)
	size := len(tab.slots)
	victim := expected(1, 1)
	hash := tab.hash(victim)
	taken := make(map[int]bool)
	for block := Bits(1 << 40); len(taken) < 2*searchMax; hash = again(hash) {
		at := tab.place(victim, hash)
		if taken[at] {
			continue
		}
		taken[at] = true
		for ; ; block += 1 << blockBits { // until a run covers the slot
			off := (at - tab.place(block, tab.hash(block))) & (size - 1)
			if off < 1<<blockBits {
				tab.insert(block+Bits(off), 1)
				block += 1 << blockBits
				break
			}
		}
	}
	attacked := tab.mul
	tab.insert(victim, 1)
	assert.Equal(t, attacked, tab.mul, "nobody has paid for rebuilding yet")
	assert.Greater(t, tab.looks(victim), searchMax)

	for i := range size / slack {
		key := expected(2, uint32(i))
		tab.insert(key, 1)
		tab.remove(tab.find(key))
	}
	assert.Equal(t, attacked, tab.mul, "ordinary insertions are no reason")
	tab.remove(tab.find(victim))
	tab.insert(victim, 1)
	assert.NotEqual(t, attacked, tab.mul, "the next seed")
	assert.Equal(t, size, len(tab.slots))
	assert.Less(t, tab.looks(victim), searchMax/4)
}
