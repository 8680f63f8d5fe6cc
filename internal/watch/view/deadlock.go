package view

import "time"

// stuckAfter is how long a wait must have lasted to count as one that may last for ever. Snapshots of several processes are not
// of the same moment: a message may be on its way.
const stuckAfter = 2 * time.Second

// A need is one wait of a rank, for the search for ranks that wait for ever.
type need struct {
	rank  int
	any   bool // waits for any one of the peers; else for all of them
	peers []int
	open  int // of all: peers that may wait for ever
}

// stuck finds the ranks that probably wait for ever. A rank does so if each of its waits does. A wait for all of some ranks does
// if one of them waits for ever; a wait for any of some, if all of them do. needs has all waits of all ranks that wait; a rank of n
// without one goes on. A wait for any rank at all has no peers.
//
// At first all ranks that wait are taken to be stuck. Then every rank that goes on frees those that wait for it.
func stuck(n int, needs []need) []bool {
	s := search{needs: needs, stuck: make([]bool, n), waits: make([][]int, n)}
	for i := range needs {
		d := &needs[i]
		s.stuck[d.rank] = true
		if d.any && len(d.peers) == 0 {
			s.open = append(s.open, i)
		}
		for _, p := range d.peers {
			s.waits[p] = append(s.waits[p], i)
		}
		d.open = len(d.peers)
	}
	for rank := range n {
		if !s.stuck[rank] {
			s.going = append(s.going, rank)
		}
	}
	for i := range needs {
		if d := &needs[i]; !d.any && len(d.peers) == 0 {
			s.free(d.rank)
		}
	}
	for len(s.going) > 0 {
		rank := s.going[len(s.going)-1]
		s.going = s.going[:len(s.going)-1]
		s.goes(rank)
	}
	return s.stuck
}

type search struct {
	needs []need
	stuck []bool
	waits [][]int // needs that wait for a rank
	open  []int   // needs that any rank can satisfy
	going []int   // ranks that go on, and have freed no others yet
}

func (s *search) free(rank int) {
	if s.stuck[rank] {
		s.stuck[rank] = false
		s.going = append(s.going, rank)
	}
}

// goes frees those that wait for a rank.
func (s *search) goes(rank int) {
	for _, i := range s.open {
		s.free(s.needs[i].rank)
	}
	s.open = nil
	for _, i := range s.waits[rank] {
		d := &s.needs[i]
		if d.open--; d.any || d.open == 0 {
			s.free(d.rank)
		}
	}
}

// A graph has an edge for each rank that another one waits for.
type graph [][]int

// knots are the strongly connected parts of a graph that have a circle, by Tarjan's algorithm.
func (g graph) knots() (all [][]int) {
	var (
		number = make([]int, len(g)) // 0: not seen
		low    = make([]int, len(g))
		on     = make([]bool, len(g))
		stack  []int
		seen   int
		visit  func(v int)
	)
	visit = func(v int) {
		seen++
		number[v], low[v] = seen, seen
		stack, on[v] = append(stack, v), true
		self := false
		for _, w := range g[v] {
			self = self || w == v
			if number[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], number[w])
			}
		}
		if low[v] != number[v] {
			return
		}
		var knot []int
		for w := -1; w != v; {
			w = stack[len(stack)-1]
			stack, on[w] = stack[:len(stack)-1], false
			knot = append(knot, w)
		}
		if len(knot) > 1 || self {
			all = append(all, knot)
		}
	}
	for v := range g {
		if number[v] == 0 {
			visit(v)
		}
	}
	return all
}

// circle is a shortest way from a vertex back to itself, within its knot.
func (g graph) circle(start int) []int {
	from := map[int]int{}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		for _, w := range g[v] {
			if w == start {
				path := []int{v}
				for v != start {
					v = from[v]
					path = append([]int{v}, path...)
				}
				return path
			}
			if _, ok := from[w]; !ok {
				from[w] = v
				queue = append(queue, w)
			}
		}
	}
	return nil
}
