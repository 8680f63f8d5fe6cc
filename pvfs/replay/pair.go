package replay

import (
	"cmp"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Pair is what a captured and a live client asked for alike. Either is nil if only the other did.
type Pair struct {
	Captured, Live *Exchange
	Differences    []Difference
}

// Pairs puts the requests of two clients together, whatever their order: those about the same object or
// name, and of several of those that differ in the fewest fields. All captured ones come first, in their
// order, then what only the live client asked.
func Pairs(captured, live []*Exchange) ([]Pair, error) {
	a, err := considerAll(captured)
	if err != nil {
		return nil, err
	}
	b, err := considerAll(live)
	if err != nil {
		return nil, err
	}
	type edge struct {
		i, j  int
		diffs []Difference
	}
	var edges []edge
	for i := range a {
		for j := range b {
			if a[i].subject == b[j].subject {
				edges = append(edges, edge{i, j, differences(a[i].fields, b[j].fields)})
			}
		}
	}
	slices.SortStableFunc(edges, func(x, y edge) int { return cmp.Compare(len(x.diffs), len(y.diffs)) })
	pairs := make([]Pair, len(a))
	taken := make([]bool, len(b))
	for i := range a {
		pairs[i].Captured = captured[i]
	}
	for _, e := range edges {
		if p := &pairs[e.i]; p.Live == nil && !taken[e.j] {
			p.Live, p.Differences, taken[e.j] = live[e.j], e.diffs, true
		}
	}
	for j, is := range taken {
		if !is {
			pairs = append(pairs, Pair{Live: live[j]})
		}
	}
	return pairs, nil
}

// considered is what there is to know of an exchange to put it together with another.
type considered struct {
	subject string
	fields  []field
}

func considerAll(exchanges []*Exchange) ([]considered, error) {
	all := make([]considered, len(exchanges))
	for i, x := range exchanges {
		_, req, err := proto.ParseRequest(x.Request)
		if err != nil {
			return nil, err
		}
		all[i].subject = subject(req)
		if all[i].fields, err = fieldsOf(x); err != nil {
			return nil, err
		}
	}
	return all, nil
}
