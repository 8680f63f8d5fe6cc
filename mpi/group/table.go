package group

import (
	"slices"
	"sync"
)

// scanMax is the number of entries up to which a search looks at each of them: about where a map
// becomes faster.
const scanMax = 16

// A table is the processes, all different, from which a group and all groups derived from it
// select. It never changes, except for the index, which is built at most once.
type table[P comparable] struct {
	members []P
	once    sync.Once
	index   map[P]int32 // place of each member; only if there are more than scanMax
}

// place returns the place of p in the table, or -1.
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

// twice finds a member that is in the table twice, at places earlier and later.
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
