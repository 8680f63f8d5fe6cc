package matchbits

import "math/bits"

// A table finds the queue of entries with a given key: open addressing, keyed
// hash, one slot per distinct key. Three properties decide its layout.
//
// Locality. Keys that differ only in their low blockBits bits, such as
// consecutive tags of one peer, get consecutive slots, 16 bytes apart. Only the
// start of such a run is hashed. Code that uses consecutive tags walks through
// memory, which the processor prefetches, so the size of the table hardly
// matters.
//
// Keys in the slots. A slot with another key is recognised without reading its
// entry, which would often not be in any cache.
//
// No tombstones. Each slot counts the keys that did not fit there and moved on,
// so that a search knows where to stop, and a removal leaves nothing to clean up.
//
// # Hostile keys
//
// The start of a run depends on the seed. For a sender that knows neither the
// seed nor how long our searches take, two runs overlap by chance only
// (multiply-shift hashing: at most 2 in the number of slots for any pair of
// keys). So no choice of keys makes searches long: at most one slot in four is
// used, and the expected search looks at fewer than two slots. If a search does
// get long, because a sender measured its way to the seed, the table is rebuilt
// with the next seed (see insert), at a constant cost per insertion. Growth,
// however, delays every caller: the one insertion that doubles a table of half a
// million keys takes about a tenth of a second. A table never shrinks, so that
// happens once for each doubling in its life. Options.Capacity, or a bound on
// kept messages, avoids it.
type table struct {
	slots []slot
	shift uint8 // 64 - log2(len(slots))
	last  int   // the slot of the latest key: the next search is often for the same
	used  int   // keys present; slack × used ≤ len(slots)
	fresh int   // insertions since the table was last built

	mul  [2]uint64 // odd; from state
	seed uint64    // for the next pair mul
}

// A slot holds one key and the first of its entries.
type slot struct {
	key  Bits
	head uint32 // index of the oldest entry; 0: no key here
	// over is twice the number of keys that passed this slot because it was in
	// use, plus 1 if this slot's own key passed others to get here.
	over uint32
}

const (
	passed    = 2 // one key more in slot.over
	displaced = 1 // the flag in slot.over

	slack     = 4 // slots per key, at least: three of four are free
	blockBits = 8 // a run is 256 slots: one page of memory
	slotsMin  = 64
	searchMax = 32 // slots one insertion looks at before it suspects the seed: by chance 1 in 2^64
)

// has reports whether the slot is that of key.
func (s *slot) has(key Bits) bool { return s.key == key && s.head != 0 }

// nowhere is what find returns for a key that is not there.
const nowhere = -1

func newTable(keys int, seed uint64) table {
	t := table{seed: seed}
	t.build(max(slotsMin, slack*keys))
	return t
}

// build makes an empty table of at least size slots under the next seed.
func (t *table) build(size int) {
	log := bits.Len(uint(size - 1))
	t.slots = make([]slot, 1<<log)
	t.shift = uint8(64 - log)
	t.last, t.used, t.fresh = 0, 0, 0
	t.mul = [2]uint64{t.draw() | 1, t.draw() | 1}
}

// draw returns the next number of the generator SplitMix64.
func (t *table) draw() uint64 {
	t.seed += 0x9e3779b97f4a7c15
	z := t.seed
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// hash mixes the bits that the keys of one run share. The first line keeps
// different runs different, the last is multiply-shift, whose top bits are good.
func (t *table) hash(key Bits) uint64 {
	x := uint64(key>>blockBits) * t.mul[0]
	x ^= x >> 32
	return x * t.mul[1]
}

// place is the slot where the search for key looks with this hash.
func (t *table) place(key Bits, hash uint64) int {
	return (int(hash>>t.shift) + int(uint32(key))) & (len(t.slots) - 1)
}

// again returns the hash for the next step of a search: a random number generator
// of full period, so that a search eventually visits every slot. It is the same
// for a whole run, so that keys of a run that must move, move together.
func again(hash uint64) uint64 { return hash*0xd1342543de82ef95 + 1 }

// find returns the slot of key, or nowhere.
func (t *table) find(key Bits) int {
	if t.slots[t.last].has(key) {
		return t.last
	}
	hash := t.hash(key)
	i := t.place(key, hash)
	s := &t.slots[i]
	if s.has(key) {
		t.last = i
		return i
	}
	if s.over < passed {
		return nowhere
	}
	return t.findFurther(key, i, hash)
}

// findFurther continues a search behind the first slot.
func (t *table) findFurther(key Bits, i int, hash uint64) int {
	for t.slots[i].over >= passed {
		hash = again(hash)
		i = t.place(key, hash)
		if t.slots[i].has(key) {
			return i
		}
	}
	return nowhere
}

// findOrInsert returns the slot of key if it is there. Else it gives key a slot
// with the given head, and returns nowhere.
func (t *table) findOrInsert(key Bits, head uint32) int {
	if t.slots[t.last].has(key) {
		return t.last
	}
	hash := t.hash(key)
	i := t.place(key, hash)
	s := &t.slots[i]
	if s.has(key) {
		t.last = i
		return i
	}
	if s.over >= passed {
		if at := t.findFurther(key, i, hash); at != nowhere {
			return at
		}
	}
	if s.head == 0 && slack*t.used < len(t.slots) { // the usual case
		s.key, s.head = key, head
		t.last = i
		t.used++
		t.fresh++
		return nowhere
	}
	t.insert(key, head)
	return nowhere
}

// insert gives key, which is not in the table, a slot with the given head.
func (t *table) insert(key Bits, head uint32) {
	if slack*t.used >= len(t.slots) {
		t.rebuild(2 * len(t.slots))
	}
	// The second condition bounds the cost of rebuilding per insertion; the first
	// does not happen by chance.
	if t.add(key, head) > searchMax && t.fresh >= len(t.slots)/slack {
		t.rebuild(len(t.slots))
	}
}

// add is insert into a table that has room. It returns the number of slots that
// it looked at.
func (t *table) add(key Bits, head uint32) (looks int) {
	t.used++
	t.fresh++
	hash := t.hash(key)
	s := &t.slots[t.place(key, hash)]
	for looks = 1; s.head != 0; looks++ {
		s.over += passed
		hash = again(hash)
		s = &t.slots[t.place(key, hash)]
	}
	s.key, s.head = key, head
	if looks > 1 {
		s.over |= displaced
	}
	return looks
}

// remove empties slot i.
func (t *table) remove(i int) {
	t.used--
	s := &t.slots[i]
	s.head = 0
	if s.over&displaced == 0 {
		return
	}
	s.over &^= displaced
	hash := t.hash(s.key)
	for j := t.place(s.key, hash); j != i; j = t.place(s.key, hash) {
		t.slots[j].over -= passed
		hash = again(hash)
	}
}

// rebuild moves every key to a new table of the given size.
func (t *table) rebuild(size int) {
	old := t.slots
	t.build(size)
	for i := range old {
		if old[i].head != 0 {
			t.add(old[i].key, old[i].head)
		}
	}
	t.fresh = 0
}
