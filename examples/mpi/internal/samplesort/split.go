package samplesort

import (
	"slices"
	"sort"
)

// Sample returns n keys of sorted records at equal distances, or fewer if there are fewer records.
// If processes have different numbers of records, n should be proportional to them.
func Sample(sorted []Record, n int) []uint64 {
	n = min(n, len(sorted))
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = sorted[(2*i+1)*len(sorted)/(2*n)].Key
	}
	return keys
}

// A Splitter is a position among sorted records: within the records with Key, after the fraction
// Part/Of of them. So a very frequent key can be several splitters, and the processes between them
// share its records.
type Splitter struct {
	Key      uint64
	Part, Of int // 0 ≤ Part ≤ Of, 0 < Of
}

// Splitters chooses the parts-1 positions that divide the samples of all processes evenly, in
// order. The result depends only on the samples, not on their order.
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

// Cut returns where sorted records are cut at the splitters: piece i is the records bounds[i] to
// bounds[i+1]-1. No key of a piece is greater than a key of a later piece on any process.
func Cut(sorted []Record, splitters []Splitter) (bounds []int) {
	bounds = make([]int, 1, len(splitters)+2)
	for _, s := range splitters {
		from, to := keyRange(sorted, s.Key)
		bounds = append(bounds, from+(to-from)*s.Part/s.Of)
	}
	return append(bounds, len(sorted))
}

// keyRange returns where the sorted records with a key begin and end.
func keyRange(sorted []Record, key uint64) (from, to int) {
	from = sort.Search(len(sorted), func(i int) bool { return sorted[i].Key >= key })
	to = from + sort.Search(len(sorted)-from, func(i int) bool { return sorted[from+i].Key > key })
	return from, to
}
