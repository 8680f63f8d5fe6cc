package perf

import (
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/units"
)

// SizeMax is the largest size that the tools accept, in bytes. It bounds the
// memory that a mistyped number can allocate.
const SizeMax = 16 << 30

// sizesMax is the longest list of sizes that ParseSizes accepts.
const sizesMax = 256

// ParseSize reads the size of an object in memory, like ParseBytes. The largest
// is SizeMax.
func ParseSize(text string) (int, error) {
	n, err := units.ParseBytesUpTo(text, SizeMax)
	return int(n), err
}

// ParseBytes reads a size in bytes: a whole number with an optional suffix B,
// KiB to EiB, K to E (powers of 1024) or kB to EB (powers of 1000), in any case.
// It is for files, which may be much larger than memory.
func ParseBytes(text string) (int64, error) { return units.ParseBytes(text) }

// ParseSizes reads a list of sizes and ranges separated by commas. A range "A-B"
// or "A..B" means A, then doubled until it would exceed B, and B itself. (After 0
// comes 1.) The order is kept, repetitions are removed.
func ParseSizes(text string) ([]int, error) {
	var out []int
	seen := make(map[int]bool)
	add := func(n int) {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "..")
		if !isRange {
			from, to, isRange = strings.Cut(part, "-")
		}
		a, err := ParseSize(from)
		if err != nil {
			return nil, err
		}
		add(a)
		if isRange {
			b, err := ParseSize(to)
			if err != nil {
				return nil, err
			}
			if b < a {
				return nil, fmt.Errorf("bad range of sizes %q: %s is over %s", part, FormatSize(a), FormatSize(b))
			}
			for n := max(1, a*2); n < b; n *= 2 {
				add(n)
			}
			add(b)
		}
		if len(out) > sizesMax {
			return nil, fmt.Errorf("bad sizes %q: more than %d of them", text, sizesMax)
		}
	}
	return out, nil
}

// FormatSize formats a size so that ParseBytes reads exactly this number.
func FormatSize(n int) string { return units.FormatBytes(int64(n)) }
