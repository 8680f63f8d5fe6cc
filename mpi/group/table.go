package group

import (
	"slices"
	"sync"
)

// scanMax is how many entries are looked at one by one rather than by an index: about where
// a map becomes faster.
const scanMax = 16

// A table is the processes that a group and all derived from it choose from, all different.
// It never changes but for the index, which is built at most once.
type table[P comparable] struct {
	members []P
	once    sync.Once
	index   map[P]int32 // place of each member; only if they are more than scanMax
}

// place is where p is in the table, or -1.
func (t *table[P]) place(p P) int {
	if t == nil {
		return -1
	}
	if len(t.members) <= scanMax {
		return slices.Index(t.members, p)
	}
	t.once.Do(t.build)
	if at, ok := t.index[p]; ok {
		return int(at)
	}
	return -1
}

func (t *table[P]) build() {
	t.index = make(map[P]int32, len(t.members))
	for i, p := range t.members {
		t.index[p] = int32(i)
	}
}

// twice finds a member that is in the table at two places, earlier and later.
func (t *table[P]) twice() (earlier, later int, found bool) {
	seen := make(map[P]int32, len(t.members))
	for i, p := range t.members {
		if at, ok := seen[p]; ok {
			return int(at), i, true
		}
		seen[p] = int32(i)
	}
	if len(t.members) > scanMax {
		t.once.Do(func() { t.index = seen })
	}
	return 0, 0, false
}
