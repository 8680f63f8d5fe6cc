// Package units reads and prints sizes and times in the one way of all commands: sizes as 8, 64KiB or 1TiB, times as 3s or
// 200ms. Options of these types are in internal/cli/program, measurements in internal/perf.
package units

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

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

var names = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// ParseBytes reads a size in bytes: a whole number with an optional suffix B, KiB
// to EiB, K to E (powers of 1024) or kB to EB (powers of 1000), in any case.
func ParseBytes(text string) (int64, error) { return ParseBytesUpTo(text, math.MaxInt64) }

// ParseBytesUpTo is ParseBytes for a size that is at most most.
func ParseBytesUpTo(text string, most int64) (int64, error) {
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
		return 0, fmt.Errorf("bad size %q: the most is %s", text, FormatBytes(most))
	case err != nil:
		return 0, fmt.Errorf("bad size %q: want a whole number and perhaps KiB, MiB, GiB and so on to EiB, for instance 8, 64KiB, 1MiB", text)
	}
	return int64(n) * factor, nil
}

// FormatBytes formats a size so that ParseBytes reads exactly this number.
func FormatBytes(n int64) string {
	u := 0
	for u < len(names)-1 && n >= 1<<10 && n%(1<<10) == 0 {
		n, u = n>>10, u+1
	}
	return strconv.FormatInt(n, 10) + " " + names[u]
}

// HumanBytes formats a size with few digits.
func HumanBytes(n int64) string {
	v, u := float64(n), 0
	for v >= 1024 && u < len(names)-1 {
		v, u = v/1024, u+1
	}
	if u == 0 || v >= 100 {
		return fmt.Sprintf("%.0f %s", v, names[u])
	}
	return fmt.Sprintf("%.1f %s", v, names[u])
}

// ErrDuration says how a time is written.
var ErrDuration = errors.New("want a time with its unit, such as 200ms, 3s or 1m30s")

// ParseDuration reads a time as time.ParseDuration does; a bare number is in seconds, as in launchers and fstab.
func ParseDuration(text string) (time.Duration, error) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, ErrDuration
	}
	return d, nil
}
