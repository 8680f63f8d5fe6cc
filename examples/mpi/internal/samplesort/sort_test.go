package samplesort

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func names() []string { return slices.Sorted(maps.Keys(kinds)) }

func made(t testing.TB, kind string, n int, seed uint64) []Record {
	t.Helper()
	in, err := NewInput(kind, uint64(n), seed)
	require.NoError(t, err)
	records := make([]Record, n)
	in.Fill(0, records)
	return records
}

func byKey(a, b Record) int { return cmp.Compare(a.Key, b.Key) }

func TestSortIsStableAndAgreesWithTheLibrary(t *testing.T) {
	for _, kind := range names() {
		for _, n := range []int{0, 1, 2, 3, fewRecords, fewRecords + 1, 500, cacheRecords, cacheRecords + 1, 5 * cacheRecords} {
			records := made(t, kind, n, 3)
			want := slices.Clone(records)
			slices.SortStableFunc(want, byKey)
			Sort(records, make([]Record, n+3))
			require.True(t, slices.Equal(want, records), "%s, %d records", kind, n)
		}
	}
}

// Keys that differ in any set of their bytes.
func TestSortLooksAtEveryByte(t *testing.T) {
	const seed = 12
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		mask, always := uint64(0), r.Uint64()
		for b := range 8 {
			if r.IntN(2) == 0 {
				mask |= uint64(r.IntN(256)) << (8 * b)
			}
		}
		records := make([]Record, r.IntN(2*cacheRecords))
		for i := range records {
			records[i] = Record{Key: always ^ r.Uint64()&mask, Value: uint64(i)}
		}
		want := slices.Clone(records)
		slices.SortStableFunc(want, byKey)
		Sort(records, make([]Record, len(records)))
		require.True(t, slices.Equal(want, records), "seed %d, mask %#x, %d records", seed, mask, len(records))
	}
}

func TestMergeIsStableAndAgreesWithSorting(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var all []Record
		var runs [][]Record
		for range r.IntN(10) {
			run := make([]Record, r.IntN(4)*r.IntN(12))
			for i := range run {
				run[i] = Record{Key: r.Uint64N(1 + r.Uint64N(30)), Value: uint64(len(all) + i)}
			}
			slices.SortStableFunc(run, byKey)
			runs, all = append(runs, run), append(all, run...)
		}
		want := append([]Record{}, all...)
		slices.SortStableFunc(want, byKey)
		given := slices.Clone(runs)
		got := make([]Record, len(all))
		Merge(got, runs)
		require.Equal(t, want, got, "seed %d", seed)
		require.Equal(t, given, runs, "what is merged stays as it is")
	}
}

// A run without records must not be mistaken for one whose next key is the largest possible.
func TestMergeKnowsTheLargestKey(t *testing.T) {
	const largest = math.MaxUint64
	got := make([]Record, 5)
	Merge(got, [][]Record{{{3, 0}}, {{1, 1}, {largest, 2}}, nil, {{largest, 3}, {largest, 4}}})
	assert.Equal(t, []Record{{1, 1}, {3, 0}, {largest, 2}, {largest, 3}, {largest, 4}}, got)
}

// distributed is the whole algorithm, with processes that take turns. It returns each one's part.
func distributed(shares [][]Record, samples int) (parts [][]Record) {
	var keys []uint64
	for _, share := range shares {
		Sort(share, make([]Record, len(share)))
		keys = append(keys, Sample(share, samples)...)
	}
	splitters := Splitters(keys, len(shares))
	incoming := make([][][]Record, len(shares))
	for _, share := range shares {
		bounds := Cut(share, splitters)
		for to := range shares {
			incoming[to] = append(incoming[to], share[bounds[to]:bounds[to+1]])
		}
	}
	for _, runs := range incoming {
		part := make([]Record, len(slices.Concat(runs...)))
		Merge(part, runs)
		parts = append(parts, part)
	}
	return parts
}

// For any keys, the parts together are the sorted input, and no process has much more than its
// share: with so many samples at most an eighth more.
func TestPartsAreSortedAndBalanced(t *testing.T) {
	const n = 24_000
	for _, kind := range names() {
		for _, procs := range []int{1, 2, 3, 4, 7, 16} {
			records := made(t, kind, n, 7)
			input := Header{Count: n, Sum: Summarize(records).Sum}
			var shares [][]Record
			for i := range procs {
				shares = append(shares, slices.Clone(records[i*n/procs:(i+1)*n/procs]))
			}
			var summaries []Summary
			largest := 0
			for _, part := range distributed(shares, 8*procs) {
				summaries = append(summaries, Summarize(part))
				largest = max(largest, len(part))
			}
			require.NoError(t, Join(summaries).Check(input), "%s, %d processes", kind, procs)
			assert.LessOrEqual(t, largest, n/procs*9/8+procs, "%s, %d processes", kind, procs)
		}
	}
}

func TestFewRecordsAreSortedToo(t *testing.T) {
	const seed = 9
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		procs := 1 + r.IntN(6)
		shares := make([][]Record, procs)
		var all []Record
		for i := range shares {
			for range r.IntN(4) {
				shares[i] = append(shares[i], Record{Key: r.Uint64N(5), Value: r.Uint64()})
			}
			all = append(all, shares[i]...)
		}
		var summaries []Summary
		for _, part := range distributed(shares, 1+r.IntN(5)) {
			summaries = append(summaries, Summarize(part))
		}
		whole := Join(summaries)
		require.True(t, whole.Sorted, "seed %d", seed)
		require.Equal(t, Summarize(all).Sum, whole.Sum)
		require.Equal(t, uint64(len(all)), whole.Count)
	}
}

// A key to the left of a splitter goes to the left, one to the right to the right, and one that is
// several splitters to each piece between them.
func TestCut(t *testing.T) {
	var sorted []Record
	for _, key := range []uint64{1, 1, 5, 5, 5, 5, 5, 5, 8, 9} {
		sorted = append(sorted, Record{Key: key})
	}
	assert.Equal(t, []int{0, 4, 6, 10}, Cut(sorted, []Splitter{{5, 1, 3}, {5, 2, 3}}))
	assert.Equal(t, []int{0, 2, 10}, Cut(sorted, []Splitter{{5, 0, 1}}))
	assert.Equal(t, []int{0, 2, 10, 10}, Cut(sorted, []Splitter{{2, 1, 2}, {77, 0, 1}}))
	assert.Equal(t, []int{0, 10}, Cut(sorted, nil))
	assert.Equal(t, []int{0, 0, 0, 0}, Cut(nil, []Splitter{{0, 0, 1}, {0, 0, 1}}))
}

func TestSplittersDoNotDependOnTheOrderOfSamples(t *testing.T) {
	samples := []uint64{9, 1, 5, 5, 5, 2, 8, 6}
	want := Splitters(samples, 4)
	assert.Equal(t, []Splitter{{5, 0, 3}, {5, 2, 3}, {8, 0, 1}}, want)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		r.Shuffle(len(samples), func(i, j int) { samples[i], samples[j] = samples[j], samples[i] })
		assert.Equal(t, want, Splitters(samples, 4))
	}
	assert.Empty(t, Splitters(samples, 1))
	assert.Equal(t, []Splitter{{0, 0, 1}, {0, 0, 1}}, Splitters(nil, 3))
}

// Check finds each way in which a sort can go wrong.
func TestSummariesSeeWhatIsWrong(t *testing.T) {
	input := made(t, "few", 1000, 1)
	sum := Summarize(input)
	header := Header{Count: sum.Count, Sum: sum.Sum}
	check := func(spoil func(parts [][]Record) [][]Record) error {
		sorted := slices.Clone(input)
		Sort(sorted, make([]Record, len(sorted)))
		parts := [][]Record{slices.Clone(sorted[:300]), nil, slices.Clone(sorted[300:])}
		var summaries []Summary
		for _, p := range spoil(parts) {
			summaries = append(summaries, Summarize(p))
		}
		return Join(summaries).Check(header)
	}
	require.NoError(t, check(func(p [][]Record) [][]Record { return p }))
	for name, spoil := range map[string]func(p [][]Record) [][]Record{
		"one lost":    func(p [][]Record) [][]Record { p[0] = p[0][1:]; return p },
		"one twice":   func(p [][]Record) [][]Record { p[2][5] = p[2][6]; return p },
		"two for two": func(p [][]Record) [][]Record { p[0][1], p[0][3] = p[0][0], p[0][2]; return p },
		"other value": func(p [][]Record) [][]Record { p[0][9].Value ^= 1 << 63; return p },
		"values swapped": func(p [][]Record) [][]Record {
			p[0][0].Value, p[2][699].Value = p[2][699].Value, p[0][0].Value
			return p
		},
		"not sorted":         func(p [][]Record) [][]Record { slices.Reverse(p[2]); return p },
		"parts in the wrong": func(p [][]Record) [][]Record { p[0], p[2] = p[2], p[0]; return p },
	} {
		assert.Error(t, check(spoil), name)
	}
}

func BenchmarkSort(b *testing.B) {
	input := made(b, "uniform", 1<<20, 1)
	records, scratch := make([]Record, len(input)), make([]Record, len(input))
	b.SetBytes(int64(len(input)) * RecordBytes)
	for b.Loop() {
		copy(records, input)
		Sort(records, scratch)
	}
}

func BenchmarkMerge(b *testing.B) {
	var runs [][]Record
	for seed := range uint64(4) {
		run := made(b, "uniform", 1<<18, seed)
		Sort(run, make([]Record, len(run)))
		runs = append(runs, run)
	}
	dst := make([]Record, 1<<20)
	b.SetBytes(int64(len(dst)) * RecordBytes)
	for b.Loop() {
		Merge(dst, runs)
	}
}
