package samplesort

import (
	"slices"
	"sort"
)

// Sample is n keys of sorted records, at even distances: fewer if there are not so many. If
// processes have different numbers of records, n should differ likewise.
func Sample(sorted []Record, n int) []uint64 {
	n = min(n, len(sorted))
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = sorted[(2*i+1)*len(sorted)/(2*n)].Key
	}
	return keys
}

// A Splitter is a place among sorted records: within those that have Key, after Part of Of of
// them. A key that is there very often can so be more than one splitter, and its records are
// shared by the processes between them.
type Splitter struct {
	Key      uint64
	Part, Of int // 0 ≤ Part ≤ Of, 0 < Of
}

// Splitters chooses the parts-1 places that divide the samples of all processes evenly, in
// order. Everybody who has the same samples, in whatever order, chooses the same.
func Splitters(samples []uint64, parts int) []Splitter {
	sorted := slices.Sorted(slices.Values(samples))
	splitters := make([]Splitter, parts-1)
	for i := range splitters {
		at := (i + 1) * len(sorted) / parts
		if at == len(sorted) { // there are none
			splitters[i].Of = 1
			continue
		}
		key := sorted[at]
		from, _ := slices.BinarySearch(sorted, key)
		to := from + sort.Search(len(sorted)-from, func(k int) bool { return sorted[from+k] > key })
		splitters[i] = Splitter{Key: key, Part: at - from, Of: to - from}
	}
	return splitters
}

// Cut tells where sorted records are cut at the splitters: piece i is those from bounds[i] to
// before bounds[i+1], and no key of a piece is greater than one of a later piece, on whatever
// process.
func Cut(sorted []Record, splitters []Splitter) (bounds []int) {
	bounds = make([]int, 1, len(splitters)+2)
	for _, s := range splitters {
		from, to := keyRange(sorted, s.Key)
		bounds = append(bounds, from+(to-from)*s.Part/s.Of)
	}
	return append(bounds, len(sorted))
}

// keyRange is where sorted records with a key begin and end.
func keyRange(sorted []Record, key uint64) (from, to int) {
	from = sort.Search(len(sorted), func(i int) bool { return sorted[i].Key >= key })
	to = from + sort.Search(len(sorted)-from, func(i int) bool { return sorted[from+i].Key > key })
	return from, to
}
