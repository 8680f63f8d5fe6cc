package ranges

import "container/heap"

// Union returns the bytes that are in any of the lists, which must ascend.
func Union(lists []List) List {
	var h front
	for _, l := range lists {
		if len(l) > 0 {
			h = append(h, cursor{list: l})
		}
	}
	if len(h) == 1 {
		return h[0].list
	}
	heap.Init(&h)
	var all List
	low, high := int64(0), int64(0) // a range that may grow
	for len(h) > 0 {
		c := &h[0]
		off, end := c.off(), c.off()+c.list[0].Len
		if off > high {
			all.Add(One(low, high-low))
			low = off
		}
		high = max(high, end)
		if c.next() {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
	all.Add(One(low, high-low))
	return all
}

// A cursor is a place in a list that is not at its end.
type cursor struct {
	list List
	i    int64 // the range of list[0]
}

func (c *cursor) off() int64 { return c.list[0].Off + c.i*c.list[0].Stride }

// next goes to the next range. It returns false at the end.
func (c *cursor) next() bool {
	if c.i++; c.i == c.list[0].Count {
		c.list, c.i = c.list[1:], 0
	}
	return len(c.list) > 0
}

// A front is a heap of cursors, the lowest offset first.
type front []cursor

func (f front) Len() int           { return len(f) }
func (f front) Less(i, j int) bool { return f[i].off() < f[j].off() }
func (f front) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *front) Push(x any)        { *f = append(*f, x.(cursor)) }
func (f *front) Pop() any {
	old := *f
	last := old[len(old)-1]
	*f = old[:len(old)-1]
	return last
}
