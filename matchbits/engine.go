package matchbits

// An Engine joins what arrives with what waits for it. It has two sides:
//
//	posted  receives that wait for a message: Post puts one there, Arrive
//	        takes out the oldest that matches an arriving message
//	kept    messages that wait for a receive (they came early): Keep puts one
//	        there, Take takes out the oldest that a new receive matches
//
// The owner decides the order of the calls: an arriving message that Arrive has
// no receive for is Kept; a receive is Posted only if Take has no message for
// it.
//
// # Matching
//
// A message with bits m and a receive (bits, ignore) match if m and bits are
// equal outside ignore. Bits that are not Options.Significant never matter. Of
// several entries that match, always the oldest is chosen, whether it is exact
// (ignores nothing significant) or a wildcard.
//
// # Cost
//
// Post, Keep and both Removes are O(1), as are Arrive, Take and Peek for exact
// matches, however many entries there are and however many have the same bits.
// Arrive looks further at the wildcard receives that are older than its exact
// match; if there are none, they cost one comparison. Take and Peek with a
// wildcard walk the kept messages from the oldest to the first that matches.
// Nothing allocates but growth beyond the largest number of entries so far;
// memory is kept at that level, so the owner bounds PostedLen and KeptLen.
// Of the hash table behind this, and of strangers who choose the bits, see the
// type table.
//
// # Items
//
// An item, usually a pointer, belongs to the engine from Post or Keep until it
// is returned; the engine keeps no reference to it afterwards.
//
// An Engine must not be copied, and has one user at a time.
type Engine[T any] struct {
	significant Bits
	seq         uint64 // of the youngest entry
	posted      side[T]
	kept        side[T]
}

// Options configure an Engine. The zero value is useful.
type Options struct {
	// Significant are the bits that take part in matching; 0 means all but
	// MaskCredits and MaskReserved, as the layout of Bits wants it. A layer
	// with a layout of its own sets this, and should keep what counts up from
	// message to message in the lowest bits: neighbours there are neighbours
	// in memory.
	Significant Bits

	// Seed makes the places in the hash table unpredictable. If strangers
	// choose bits it must come from a random source and stay here: a number
	// that also goes over the wire will not do. In a test that is to be
	// repeated it is fixed.
	Seed uint64

	// Capacity is the number of entries per side to make room for at once.
	Capacity int
}

// A Ref names one entry, also after it is gone: a stale Ref is recognised, it
// never names another entry. The zero Ref names none.
type Ref struct {
	seq   uint64
	index uint32
}

// IsZero reports whether r is the zero Ref.
func (r Ref) IsZero() bool { return r == Ref{} }

// New makes an empty engine.
func New[T any](o Options) *Engine[T] {
	if o.Significant == 0 {
		o.Significant = MaskAll &^ (MaskCredits | MaskReserved)
	}
	return &Engine[T]{
		significant: o.Significant,
		posted:      newSide[T](o.Capacity, o.Seed),
		// Any other seed, so that the sides do not share bad luck.
		kept: newSide[T](o.Capacity, ^o.Seed),
	}
}

// Post adds a receive to the posted side.
func (e *Engine[T]) Post(bits, ignore Bits, item T) Ref {
	s := &e.posted
	i := s.take()
	e.seq++
	p := &s.entries[i]
	p.item = item
	p.seq = e.seq
	p.ignore = ignore & e.significant
	p.bits = bits & e.significant &^ ignore
	if p.ignore == 0 {
		s.enqueue(i)
	} else {
		s.order(i)
	}
	return Ref{seq: e.seq, index: i}
}

// Arrive takes out the oldest receive that matches a message with these bits,
// and returns its item.
func (e *Engine[T]) Arrive(bits Bits) (item T, ok bool) {
	s := &e.posted
	key := bits & e.significant
	at := s.table.find(key)
	if s.first != 0 {
		if i := e.wildcard(key, at); i != 0 {
			s.unorder(i)
			return s.give(i), true
		}
	}
	if at == nowhere {
		return item, false
	}
	return s.give(s.dequeue(at)), true
}

// wildcard returns the oldest wildcard receive that matches key and is older
// than the exact match in slot at, or 0.
func (e *Engine[T]) wildcard(key Bits, at int) uint32 {
	s := &e.posted
	before := e.seq + 1
	if at != nowhere {
		before = s.entries[s.table.slots[at].head].seq
	}
	for i := s.first; i != 0; {
		p := &s.entries[i]
		if p.seq > before {
			return 0
		}
		if (p.bits^key)&^p.ignore == 0 {
			return i
		}
		i = p.newer
	}
	return 0
}

// Keep adds a message to the kept side.
func (e *Engine[T]) Keep(bits Bits, item T) Ref {
	s := &e.kept
	i := s.take()
	e.seq++
	p := &s.entries[i]
	p.item = item
	p.seq = e.seq
	p.ignore = 0
	p.bits = bits & e.significant
	s.enqueue(i)
	s.order(i)
	return Ref{seq: e.seq, index: i}
}

// Take takes out the oldest kept message that matches a receive, and returns
// its item.
func (e *Engine[T]) Take(bits, ignore Bits) (item T, ok bool) {
	s := &e.kept
	if ignore&e.significant == 0 {
		at := s.table.find(bits & e.significant)
		if at == nowhere {
			return item, false
		}
		i := s.dequeue(at)
		s.unorder(i)
		return s.give(i), true
	}
	i := e.oldestKept(bits, ignore)
	if i == 0 {
		return item, false
	}
	s.unqueue(i)
	s.unorder(i)
	return s.give(i), true
}

// Peek returns the item that Take would take, and leaves it where it is.
func (e *Engine[T]) Peek(bits, ignore Bits) (item T, ok bool) {
	s := &e.kept
	if ignore&e.significant == 0 {
		if at := s.table.find(bits & e.significant); at != nowhere {
			return s.entries[s.table.slots[at].head].item, true
		}
		return item, false
	}
	if i := e.oldestKept(bits, ignore); i != 0 {
		return s.entries[i].item, true
	}
	return item, false
}

// oldestKept walks the kept messages for a wildcard; 0 if none matches.
func (e *Engine[T]) oldestKept(bits, ignore Bits) uint32 {
	s := &e.kept
	compared := e.significant &^ ignore
	for i := s.first; i != 0; i = s.entries[i].newer {
		if (s.entries[i].bits^bits)&compared == 0 {
			return i
		}
	}
	return 0
}

// RemovePosted takes out the receive that ref names and returns its item; ok is
// false if it is not posted any more.
func (e *Engine[T]) RemovePosted(ref Ref) (item T, ok bool) {
	s := &e.posted
	if !s.holds(ref) {
		return item, false
	}
	if s.entries[ref.index].ignore == 0 {
		s.unqueue(ref.index)
	} else {
		s.unorder(ref.index)
	}
	return s.give(ref.index), true
}

// RemoveKept takes out the message that ref names and returns its item; ok is
// false if it is not kept any more.
func (e *Engine[T]) RemoveKept(ref Ref) (item T, ok bool) {
	s := &e.kept
	if !s.holds(ref) {
		return item, false
	}
	s.unqueue(ref.index)
	s.unorder(ref.index)
	return s.give(ref.index), true
}

// PostedLen is the number of receives that wait for a message.
func (e *Engine[T]) PostedLen() int { return e.posted.length }

// KeptLen is the number of messages that wait for a receive.
func (e *Engine[T]) KeptLen() int { return e.kept.length }
