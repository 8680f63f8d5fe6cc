package perf

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// SizeMax is the largest size that the tools accept, in bytes. It bounds the
// memory that a mistyped number can allocate.
const SizeMax = 16 << 30

// sizesMax is the longest list of sizes that ParseSizes accepts.
const sizesMax = 256

// suffixes are tried in this order, so that a longer one comes before its own
// ending. Powers of 1024 and of 1000 are distinguished as in IEC 80000-13; a bare
// K, M or G is binary, as in most benchmark tools.
var suffixes = []struct {
	name   string
	factor int64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40}, {"pib", 1 << 50}, {"eib", 1 << 60},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12}, {"pb", 1e15}, {"eb", 1e18},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40}, {"p", 1 << 50}, {"e", 1 << 60},
	{"b", 1},
}

// ParseSize reads the size of an object in memory, like ParseBytes. The largest
// is SizeMax.
func ParseSize(text string) (int, error) {
	n, err := parseUpTo(text, SizeMax)
	return int(n), err
}

// ParseBytes reads a size in bytes: a whole number with an optional suffix B,
// KiB to EiB, K to E (powers of 1024) or kB to EB (powers of 1000), in any case.
// It is for files, which may be much larger than memory.
func ParseBytes(text string) (int64, error) { return parseUpTo(text, math.MaxInt64) }

func parseUpTo(text string, most int64) (int64, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	factor := int64(1)
	for _, suffix := range suffixes {
		if rest, ok := strings.CutSuffix(s, suffix.name); ok {
			s, factor = strings.TrimSpace(rest), suffix.factor
			break
		}
	}
	n, err := strconv.ParseUint(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && n > uint64(most/factor):
		return 0, fmt.Errorf("bad size %q: the most is %s", text, FormatSize(int(most)))
	case err != nil:
		return 0, fmt.Errorf("bad size %q: want a whole number and perhaps KiB, MiB, GiB and so on to EiB, for instance 8, 64KiB, 1MiB", text)
	}
	return int64(n) * factor, nil
}

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
func FormatSize(n int) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	u := 0
	for u < len(units)-1 && n >= 1<<10 && n%(1<<10) == 0 {
		n, u = n>>10, u+1
	}
	return strconv.Itoa(n) + " " + units[u]
}
