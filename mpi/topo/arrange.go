package topo

import (
	"container/heap"
	"slices"
)

// Arrange returns which process is to be each node of a topology so that few neighbours are on
// different hosts: node i is process order[i]. hosts[p] is the host of process p; the topology is
// that of the first Size() processes. The result is nil if no order was found that is better than
// the processes' own. It is the same wherever it is computed.
//
// In a grid whose hosts have the same number of processes, each host gets a block. Otherwise, and
// in graphs, hosts are filled one after the other, each with nodes that have many neighbours there.
func Arrange(t Topology, hosts []int32) (order []int, err error) {
	n := t.Size()
	edges, err := edgesOf(t)
	if err != nil {
		return nil, err
	}
	own := make([]int, n)
	for i := range own {
		own[i] = i
	}
	at := processes(hosts[:n])
	least := between(edges, hosts, own)
	tried := [][]int{filled(edges, at)}
	if cart, ok := t.(*Cart); ok {
		tried = slices.Insert(tried, 0, cart.blocks(at))
	}
	for _, o := range tried {
		if o == nil {
			continue
		}
		if k := between(edges, hosts, o); k < least {
			least, order = k, o
		}
	}
	return order, nil
}

// edgesOf returns the neighbours that each node sends to.
func edgesOf(t Topology) ([][]int, error) {
	edges := make([][]int, t.Size())
	for i := range edges {
		nb, err := t.Neighborhood(i)
		if err != nil {
			return nil, err
		}
		edges[i] = slices.DeleteFunc(nb.Destinations, func(to int) bool { return to == ProcNull || to == i })
	}
	return edges, nil
}

// between counts the edges between hosts.
func between(edges [][]int, hosts []int32, order []int) (n int) {
	for i, list := range edges {
		for _, to := range list {
			if hosts[order[i]] != hosts[order[to]] {
				n++
			}
		}
	}
	return n
}

// processes lists the processes of each host; hosts are in the order of their lowest processes.
func processes(hosts []int32) (at [][]int) {
	index := make(map[int32]int)
	for p, host := range hosts {
		i, known := index[host]
		if !known {
			i = len(at)
			index[host] = i
			at = append(at, nil)
		}
		at[i] = append(at[i], p)
	}
	return at
}

// blocks gives each host a block of the grid, of the shape with the fewest neighbours outside. It returns
// nil if the hosts differ in size, or no block of that size divides the grid.
func (c *Cart) blocks(at [][]int) []int {
	each := len(at[0])
	for _, list := range at {
		if len(list) != each {
			return nil
		}
	}
	shape := c.blockShape(each)
	if shape == nil {
		return nil
	}
	order := make([]int, c.size)
	for node := range order {
		block, within := 0, 0
		for i, d := range c.dims {
			x := c.coord(node, i)
			block = block*(d/shape[i]) + x/shape[i]
			within = within*shape[i] + x%shape[i]
		}
		order[node] = at[block][within]
	}
	return order
}

// blockShape returns the shape of a block of n nodes that divides the grid and has the fewest
// neighbours outside; nil if there is none.
func (c *Cart) blockShape(n int) (best []int) {
	shape := make([]int, len(c.dims))
	least := 0
	var choose func(i, rest int)
	choose = func(i, rest int) {
		if i == len(shape) {
			if rest > 1 {
				return
			}
			surface := 0
			for k, b := range shape {
				surface += c.borders(k, c.dims[k]/b) * c.size / c.dims[k]
			}
			if best == nil || surface < least {
				least, best = surface, slices.Clone(shape)
			}
			return
		}
		for b := 1; b <= rest && b <= c.dims[i]; b++ {
			if rest%b == 0 && c.dims[i]%b == 0 {
				shape[i] = b
				choose(i+1, rest/b)
			}
		}
	}
	choose(0, n)
	return best
}

// borders returns the number of borders between blocks along a dimension.
func (c *Cart) borders(dim, blocks int) int {
	if c.periods[dim] && blocks > 1 {
		return blocks
	}
	return blocks - 1
}

// filled fills one host after the other. It begins each with the lowest node that is left, and goes
// on with the one that has the most edges from and to nodes there.
func filled(edges [][]int, at [][]int) []int {
	both := make([][]int, len(edges))
	for i, list := range edges {
		for _, to := range list {
			both[i], both[to] = append(both[i], to), append(both[to], i)
		}
	}
	order := slices.Repeat([]int{-1}, len(edges))
	lowest := 0
	for _, list := range at {
		links := make(map[int]int) // edges between a node that is left and this host
		var next candidates
		for _, process := range list {
			node := next.take(order, links)
			if node < 0 {
				for order[lowest] >= 0 {
					lowest++
				}
				node = lowest
			}
			order[node] = process
			for _, k := range both[node] {
				if order[k] < 0 {
					links[k]++
					heap.Push(&next, candidate{links: links[k], node: k})
				}
			}
		}
	}
	return order
}

// A candidate is a node and the edges that it had when it was added. A node with more edges is
// added again.
type candidate struct{ links, node int }

// candidates is a heap; the most edges come first, then the lowest node.
type candidates []candidate

func (c candidates) Len() int      { return len(c) }
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

func (c candidates) Less(i, j int) bool {
	return c[i].links > c[j].links || c[i].links == c[j].links && c[i].node < c[j].node
}

func (c *candidates) Push(x any) { *c = append(*c, x.(candidate)) }

func (c *candidates) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}

// take takes out the best node that is left, -1 if there is none.
func (c *candidates) take(order []int, links map[int]int) int {
	for c.Len() > 0 {
		best := heap.Pop(c).(candidate)
		if order[best.node] < 0 && links[best.node] == best.links {
			return best.node
		}
	}
	return -1
}
