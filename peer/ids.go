package peer

// ID is a peer id: 20 bits in the match bits of every message, assigned by the
// side that receives the message. 0 is no peer.
type ID uint32

// IDMax is the largest peer id.
const IDMax ID = 1<<20 - 1

// IDQuarantine is how many ids the methods let rest before one is used again.
const IDQuarantine = 1024

// Valid reports whether id can name a peer. An id from the network may be
// invalid.
func (id ID) Valid() bool { return id >= 1 && id <= IDMax }

// IDs assigns peer ids and finds the item of an id, in constant time. A returned
// id rests behind all ids that were returned earlier. It is used again only when
// more than a quarantine of ids rest, so a message that is late by less than that
// many reconnects names no peer. Where even that is not enough, a caller can keep
// an id together with its generation, which grows with every use.
//
// Memory is bounded by the ids in use at one time plus the quarantine.
type IDs[T any] struct {
	entries    []idEntry[T] // by id-1
	limit      ID
	quarantine int
	resting    int
	oldest     ID // head of the resting ids, 0 if none
	newest     ID
}

type idEntry[T any] struct {
	item       T
	generation uint32 // uses so far; odd exactly while in use
	next       ID     // while resting
}

// NewIDs returns an empty allocator of ids 1 to limit (at most IDMax).
func NewIDs[T any](limit ID, quarantine int) *IDs[T] {
	if !limit.Valid() {
		panic("peer: limit of ids out of range")
	}
	return &IDs[T]{limit: limit, quarantine: quarantine}
}

// Take assigns an id to item. It reports false when all are in use.
func (s *IDs[T]) Take(item T) (id ID, generation uint32, ok bool) {
	switch {
	case s.resting > s.quarantine, ID(len(s.entries)) == s.limit:
		if id = s.oldest; id == 0 {
			return 0, 0, false
		}
		s.oldest = s.entries[id-1].next
		s.resting--
	default:
		s.entries = append(s.entries, idEntry[T]{})
		id = ID(len(s.entries))
	}
	e := &s.entries[id-1]
	e.item, e.next = item, 0
	e.generation++
	return id, e.generation, true
}

// Give returns an id. It reports false, and does nothing, if the id is not in
// use or was taken again since that generation.
func (s *IDs[T]) Give(id ID, generation uint32) bool {
	e := s.entry(id)
	if e == nil || e.generation != generation {
		return false
	}
	var none T
	e.item = none
	e.generation++
	if s.resting == 0 {
		s.oldest = id
	} else {
		s.entries[s.newest-1].next = id
	}
	s.newest = id
	s.resting++
	return true
}

// Lookup finds the item of an id. The id may come from the network.
func (s *IDs[T]) Lookup(id ID) (item T, ok bool) {
	if i := id - 1; int(i) < len(s.entries) && s.entries[i].generation&1 == 1 {
		return s.entries[i].item, true
	}
	return item, false
}

// Check is Lookup for an id remembered together with its generation.
func (s *IDs[T]) Check(id ID, generation uint32) (item T, ok bool) {
	if e := s.entry(id); e != nil && e.generation == generation {
		return e.item, true
	}
	return item, false
}

// Live is the number of ids in use.
func (s *IDs[T]) Live() int { return len(s.entries) - s.resting }

// entry returns the entry of an id in use, or nil.
func (s *IDs[T]) entry(id ID) *idEntry[T] {
	if !id.Valid() || int(id) > len(s.entries) || s.entries[id-1].generation&1 == 0 {
		return nil
	}
	return &s.entries[id-1]
}
