package group

import (
	"slices"
	"sync"
)

// A selection is a sequence of different places of a table; the place at index i belongs to rank i.
// Most groups are every k-th process of another group, from some place on. These need no list.
type selection struct {
	n           int
	first, step int      // of the places if there is no list; step ≠ 0 if n > 0
	list        []int32  // nil, or n places
	ranks       *inverse // of the list; nil if it is short enough to be searched
}

// An inverse maps the places of a list to indices. It is built at most once.
type inverse struct {
	once   sync.Once
	lowest int32
	dense  []int32         // 1 + the index, or 0, of place lowest + i; or
	sparse map[int32]int32 // the index
}

// selectEvery returns n places from first on, step apart. If n is 1, step may be anything.
func selectEvery(first, step, n int) selection {
	if n < 2 {
		step = 1
	}
	return selection{n: n, first: first, step: step}
}

// selectList returns the selection of a list of different places, and takes ownership of the list.
func selectList(list []int32) selection {
	if first, step, ok := progression(list); ok {
		return selectEvery(first, step, len(list))
	}
	s := selection{n: len(list), list: list}
	if len(list) > scanMax {
		s.ranks = new(inverse)
	}
	return s
}

// progression finds out whether the entries of a list are at equal distances.
func progression(list []int32) (first, step int, ok bool) {
	switch len(list) {
	case 0:
		return 0, 1, true
	case 1:
		return int(list[0]), 1, true
	}
	d := list[1] - list[0]
	for i := 2; i < len(list); i++ {
		if list[i]-list[i-1] != d {
			return 0, 0, false
		}
	}
	return int(list[0]), int(d), true
}

// at returns the place of rank i, 0 ≤ i < n.
func (s *selection) at(i int) int {
	if s.list != nil {
		return int(s.list[i])
	}
	return s.first + i*s.step
}

// rank returns the index of a place, or -1. The place -1 has none.
func (s *selection) rank(place int) int {
	switch {
	case place < 0 || s.n == 0:
		return -1
	case s.ranks != nil:
		s.ranks.once.Do(func() { s.ranks.build(s.list) })
		return s.ranks.of(int32(place))
	case s.list != nil:
		return slices.Index(s.list, int32(place))
	}
	away := place - s.first
	if away%s.step != 0 || away/s.step < 0 || away/s.step >= s.n {
		return -1
	}
	return away / s.step
}

// build uses a slice if at least one in four of its entries would be used.
func (v *inverse) build(list []int32) {
	v.lowest = slices.Min(list)
	span := int(slices.Max(list)-v.lowest) + 1
	if span > 4*len(list) {
		v.sparse = make(map[int32]int32, len(list))
		for i, place := range list {
			v.sparse[place] = int32(i)
		}
		return
	}
	v.dense = make([]int32, span)
	for i, place := range list {
		v.dense[place-v.lowest] = int32(i) + 1
	}
}

func (v *inverse) of(place int32) int {
	if v.sparse != nil {
		if i, ok := v.sparse[place]; ok {
			return int(i)
		}
		return -1
	}
	if at := int(place) - int(v.lowest); at >= 0 && at < len(v.dense) {
		return int(v.dense[at]) - 1
	}
	return -1
}
