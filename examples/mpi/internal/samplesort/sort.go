package samplesort

import "math/bits"

const (
	// fewRecords is how many records are sorted by insertion, because counting bytes would take
	// longer.
	fewRecords = 32
	// cacheRecords is how many records fit in a processor's cache together with their copies.
	cacheRecords = 1 << 13
)

// Sort sorts records by key; it is stable. scratch is as long as records, and its contents are
// lost.
//
// It is a radix sort by bytes. Many records are first distributed by the highest byte in which keys
// differ, so that each part fits in the cache. Parts, and small inputs, are sorted by their lower
// bytes from the lowest on.
func Sort(records, scratch []Record) {
	scratch = scratch[:len(records)]
	if len(records) <= fewRecords {
		insert(records)
		return
	}
	bytes := differing(records)
	if bytes == 0 {
		return
	}
	if len(records) <= cacheRecords {
		if inScratch := byLowest(records, scratch, bytes); inScratch {
			copy(records, scratch)
		}
		return
	}
	top := 8 * (bytes - 1)
	var counts [256]int
	for i := range records {
		counts[byte(records[i].Key>>top)]++
	}
	sizes := counts
	scatter(records, scratch, top, &counts)
	for _, n := range sizes {
		heap, place := scratch[:n], records[:n]
		scratch, records = scratch[n:], records[n:]
		if n <= fewRecords {
			insert(heap)
			copy(place, heap)
		} else if inPlace := byLowest(heap, place, bytes-1); !inPlace {
			copy(place, heap)
		}
	}
}

// differing returns the number of low bytes that contain all differences between the keys.
func differing(records []Record) (bytes int) {
	first, diff := records[0].Key, uint64(0)
	for i := range records {
		diff |= records[i].Key ^ first
	}
	return (bits.Len64(diff) + 7) / 8
}

// insert sorts a few records in place.
func insert(records []Record) {
	for i := 1; i < len(records); i++ {
		r, k := records[i], i
		for ; k > 0 && records[k-1].Key > r.Key; k-- {
			records[k] = records[k-1]
		}
		records[k] = r
	}
}

// byLowest sorts records whose keys agree except in some low bytes. It makes a pass for each of
// those bytes that differs, from one slice to the other and back. It reports whether the result is
// in other.
func byLowest(records, other []Record, bytes int) (inOther bool) {
	var counts [8][256]int
	for i := range records {
		key := records[i].Key
		for b := range counts[:bytes] {
			counts[b][byte(key>>(8*b))]++
		}
	}
	for b := range counts[:bytes] {
		if counts[b][byte(records[0].Key>>(8*b))] == len(records) {
			continue
		}
		scatter(records, other, 8*b, &counts[b])
		records, other = other, records
		inOther = !inOther
	}
	return inOther
}

// scatter copies records in the order of one byte of their keys. counts has how often each value of
// the byte occurs; it is overwritten.
func scatter(from, to []Record, shift int, counts *[256]int) {
	at := 0
	for i, n := range counts {
		counts[i] = at
		at += n
	}
	for i := range from {
		place := &counts[byte(from[i].Key>>(shift&63))]
		to[*place] = from[i]
		*place++
	}
}
