package matchbits

import (
	"cmp"
	"slices"
)

// PurgePosted takes out every receive that could only match messages within
// (bits, ignore), and gives their items to fn, oldest first. To drop a peer,
// ignore everything except MaskPeerID: receives from any source stay. Ignoring
// everything empties the side.
//
// fn may use the engine: all entries are out before the first call. The cost is a
// walk over all entries, those of other peers too. An owner that drops peers
// often should keep the Refs of each peer and use RemovePosted.
func (e *Engine[T]) PurgePosted(bits, ignore Bits, fn func(item T)) {
	purge(&e.posted, e.significant, bits, ignore, func(ref Ref) T {
		item, _ := e.RemovePosted(ref)
		return item
	}, fn)
}

// PurgeKept is PurgePosted for kept messages: it takes out every message
// within (bits, ignore).
func (e *Engine[T]) PurgeKept(bits, ignore Bits, fn func(item T)) {
	purge(&e.kept, e.significant, bits, ignore, func(ref Ref) T {
		item, _ := e.RemoveKept(ref)
		return item
	}, fn)
}

func purge[T any](s *side[T], significant, bits, ignore Bits, remove func(Ref) T, fn func(T)) {
	var refs []Ref
	compared := significant &^ ignore
	for i := range s.entries {
		p := &s.entries[i]
		if p.seq != 0 && p.ignore&compared == 0 && (p.bits^bits)&compared == 0 {
			refs = append(refs, Ref{seq: p.seq, index: uint32(i)})
		}
	}
	slices.SortFunc(refs, func(a, b Ref) int { return cmp.Compare(a.seq, b.seq) })
	items := make([]T, len(refs))
	for i, ref := range refs {
		items[i] = remove(ref)
	}
	for _, item := range items {
		fn(item)
	}
}
