package replay

import (
	"cmp"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Pair is a request of a captured client and the matching one of a live client. Either is nil if only the other client sent it.
type Pair struct {
	Captured, Live *Exchange
	Differences    []Difference
}

// Pairs matches the requests of two clients in any order. Requests about the same object or name match; of several, those that
// differ in the fewest fields. The captured requests come first, in their order, then those that only the live client sent.
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

// considered is the data of an exchange for the matching.
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
