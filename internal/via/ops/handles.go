package ops

// handles is a table of items by numbers that peers use for them. A number is an index and a
// generation, so that a late or invented one finds nothing.
type handles[T any] struct {
	entries []handle[T]
	free    []uint32
}

type handle[T any] struct {
	item       T
	generation uint32 // odd while in use
}

func (t *handles[T]) add(item T) uint64 {
	i := uint32(len(t.entries))
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		t.entries = append(t.entries, handle[T]{})
	}
	e := &t.entries[i]
	e.item = item
	e.generation++
	return uint64(e.generation)<<32 | uint64(i)
}

// live is the number of items.
func (t *handles[T]) live() int { return len(t.entries) - len(t.free) }

// find returns the item with a number.
func (t *handles[T]) find(number uint64) (item T, ok bool) {
	i := uint32(number)
	if int(i) >= len(t.entries) || t.entries[i].generation != uint32(number>>32) || t.entries[i].generation&1 == 0 {
		return item, false
	}
	return t.entries[i].item, true
}

// remove frees a number that is in use.
func (t *handles[T]) remove(number uint64) {
	i := uint32(number)
	t.entries[i] = handle[T]{generation: t.entries[i].generation + 1}
	t.free = append(t.free, i)
}
