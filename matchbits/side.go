package matchbits

// A side is one of the two sets of entries of an Engine. Entries live in one
// slice and are linked by index, so that removal is O(1) and the garbage
// collector sees one object. Index 0 means none.
//
// An entry is on up to two lists:
//
//	its queue: the entries with the same key, oldest first; the table finds
//	           the head. Wildcard receives are in no queue.
//	the order: the entries that a search by wildcard must walk, oldest first:
//	           of the posted side the wildcard receives, of the kept side all.
type side[T any] struct {
	table       table
	entries     []entry[T]
	free        uint32 // the list of free entries, linked by next, last freed first
	first, last uint32 // the ends of the order
	length      int    // entries in use
}

// An entry takes 48 bytes with a pointer as its item.
type entry[T any] struct {
	item   T
	bits   Bits   // only the bits that are significant and not ignored
	ignore Bits   // only significant bits; 0: an exact entry
	seq    uint64 // when it was posted or kept; 0: free

	// The queue. The head's prev is the tail; the tail's next is 0.
	next, prev uint32
	// The order.
	newer, older uint32
}

func newSide[T any](capacity int, seed uint64) side[T] {
	return side[T]{
		table:   newTable(capacity, seed),
		entries: make([]entry[T], 1, 1+max(capacity, slotsMin/2)),
	}
}

// take returns a free entry. The one freed last comes first: it is in the cache.
func (s *side[T]) take() uint32 {
	s.length++
	if i := s.free; i != 0 {
		s.free = s.entries[i].next
		return i
	}
	return s.grow()
}

//go:noinline
func (s *side[T]) grow() uint32 {
	i := len(s.entries)
	if uint64(i) > 1<<31 {
		panic("matchbits: broken invariant: more than 2^31 entries, the owner must bound them")
	}
	s.entries = append(s.entries, entry[T]{})
	return uint32(i)
}

// give frees entry i, which is on no list any more, and returns its item.
func (s *side[T]) give(i uint32) T {
	var none T
	e := &s.entries[i]
	item := e.item
	e.item = none // let the garbage collector free the item
	e.seq = 0
	e.next = s.free
	s.free = i
	s.length--
	return item
}

// holds reports whether ref names an entry that is still here.
func (s *side[T]) holds(ref Ref) bool {
	return ref.seq != 0 && int(ref.index) < len(s.entries) && s.entries[ref.index].seq == ref.seq
}

// enqueue appends entry i to the queue of its key.
func (s *side[T]) enqueue(i uint32) {
	e := &s.entries[i]
	e.next = 0
	at := s.table.findOrInsert(e.bits, i)
	if at == nowhere {
		e.prev = i
		return
	}
	head := &s.entries[s.table.slots[at].head]
	e.prev = head.prev
	s.entries[head.prev].next = i
	head.prev = i
}

// dequeue takes the head out of the queue in slot at and returns its index.
func (s *side[T]) dequeue(at int) uint32 {
	slot := &s.table.slots[at]
	i := slot.head
	e := &s.entries[i]
	if e.next == 0 {
		s.table.remove(at)
		return i
	}
	slot.head = e.next
	s.entries[e.next].prev = e.prev
	return i
}

// unqueue takes entry i out of its queue, wherever it stands there.
func (s *side[T]) unqueue(i uint32) {
	e := &s.entries[i]
	before := &s.entries[e.prev]
	switch {
	case before.next == 0: // the entry before the head is the tail
		s.dequeue(s.table.find(e.bits))
	case e.next == 0: // the tail
		before.next = 0
		s.entries[s.table.slots[s.table.find(e.bits)].head].prev = e.prev
	default:
		before.next = e.next
		s.entries[e.next].prev = e.prev
	}
}

// order appends entry i to the order.
func (s *side[T]) order(i uint32) {
	e := &s.entries[i]
	e.newer, e.older = 0, s.last
	if s.last != 0 {
		s.entries[s.last].newer = i
	} else {
		s.first = i
	}
	s.last = i
}

// unorder takes entry i out of the order.
func (s *side[T]) unorder(i uint32) {
	e := &s.entries[i]
	if e.older != 0 {
		s.entries[e.older].newer = e.newer
	} else {
		s.first = e.newer
	}
	if e.newer != 0 {
		s.entries[e.newer].older = e.older
	} else {
		s.last = e.older
	}
}
