package matchbits

// An Engine joins messages with receives. It has two sides:
//
//	posted  receives that wait for a message: Post adds one, Arrive takes out
//	        the oldest that matches an arriving message
//	kept    messages that wait for a receive (they came early): Keep adds one,
//	        Take takes out the oldest that matches a new receive
//
// The owner decides the order of the calls: a message is Kept if Arrive has no
// receive for it; a receive is Posted only if Take has no message for it.
//
// # Matching
//
// A message with bits m and a receive (bits, ignore) match if m and bits are
// equal outside ignore. Bits outside Options.Significant never matter. If several
// entries match, the oldest is chosen, whether it is exact (ignores nothing
// significant) or a wildcard.
//
// # Cost
//
// Post, Keep and both Removes are O(1). So are Arrive, Take and Peek for exact
// matches, however many entries there are and however many have the same bits.
// Arrive also checks the wildcard receives that are older than its exact match;
// if there are none, that costs one comparison. Take and Peek with a wildcard
// walk the kept messages from the oldest to the first that matches. Only growth
// beyond the largest number of entries so far allocates. Memory never shrinks, so
// the owner must bound PostedLen and KeptLen. For the hash table behind this, and
// its defence against hostile bits, see the type table.
//
// # Items
//
// R is what the owner knows a receive by, M a message: usually pointers. An item
// belongs to the engine from Post or Keep until it is returned; the engine keeps no
// reference to it afterwards.
//
// An Engine must not be copied, and has one user at a time.
type Engine[R, M any] struct {
	significant Bits
	seq         uint64 // of the youngest entry
	posted      side[R]
	kept        side[M]
}

// Options configure an Engine. The zero value is useful.
type Options struct {
	// Significant are the bits that take part in matching. 0 means all except
	// MaskCredits and MaskReserved, as in the layout of Bits. A layer with its
	// own layout sets Significant. It should put fields that count up from
	// message to message into the lowest bits, because neighbours there are
	// neighbours in memory.
	Significant Bits

	// Seed makes the slots in the hash table unpredictable. If hostile peers can
	// choose bits, the seed must come from a random source and stay secret: it
	// must not be a number that also goes over the wire. In a repeatable test it
	// is fixed.
	Seed uint64

	// Capacity is the number of entries per side to make room for at once.
	Capacity int
}

// A Ref names one entry, even after the entry is gone: a stale Ref is recognised
// and never names another entry. The zero Ref names none.
type Ref struct {
	seq   uint64
	index uint32
}

// Words is the Ref as two words, for an owner that has to keep it where this type is not known.
func (r Ref) Words() [2]uint64 { return [2]uint64{r.seq, uint64(r.index)} }

// RefOf undoes Ref.Words. Any words may be given: a Ref that was never returned names none.
func RefOf(words [2]uint64) Ref { return Ref{seq: words[0], index: uint32(words[1])} }

// New makes an empty engine.
func New[R, M any](o Options) *Engine[R, M] {
	if o.Significant == 0 {
		o.Significant = MaskAll &^ (MaskCredits | MaskReserved)
	}
	return &Engine[R, M]{
		significant: o.Significant,
		posted:      newSide[R](o.Capacity, o.Seed),
		// A different seed, so that one side's collisions are not the other's.
		kept: newSide[M](o.Capacity, ^o.Seed),
	}
}

// Post adds a receive to the posted side.
func (e *Engine[R, M]) Post(bits, ignore Bits, item R) Ref {
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
func (e *Engine[R, M]) Arrive(bits Bits) (item R, ok bool) {
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
func (e *Engine[R, M]) wildcard(key Bits, at int) uint32 {
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
func (e *Engine[R, M]) Keep(bits Bits, item M) Ref {
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
func (e *Engine[R, M]) Take(bits, ignore Bits) (item M, ok bool) {
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

// Peek returns the item that Take would return, and leaves it in place.
func (e *Engine[R, M]) Peek(bits, ignore Bits) (item M, ok bool) {
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
func (e *Engine[R, M]) oldestKept(bits, ignore Bits) uint32 {
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
func (e *Engine[R, M]) RemovePosted(ref Ref) (item R, ok bool) {
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
func (e *Engine[R, M]) RemoveKept(ref Ref) (item M, ok bool) {
	s := &e.kept
	if !s.holds(ref) {
		return item, false
	}
	s.unqueue(ref.index)
	s.unorder(ref.index)
	return s.give(ref.index), true
}

// PostedLen is the number of receives that wait for a message.
func (e *Engine[R, M]) PostedLen() int { return e.posted.length }

// KeptLen is the number of messages that wait for a receive.
func (e *Engine[R, M]) KeptLen() int { return e.kept.length }
