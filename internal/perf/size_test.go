package perf

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "8": 8, "8B": 8, " 64 KiB ": 64 << 10, "64kib": 64 << 10, "64K": 64 << 10, "64kB": 64000,
		"1MiB": 1 << 20, "1M": 1 << 20, "1MB": 1e6, "2GiB": 2 << 30, "16GiB": SizeMax, "1GB": 1e9,
	} {
		got, err := ParseSize(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "8": 8, "64KiB": 64 << 10, "17GiB": 17 << 30, "1TiB": 1 << 40, "2 tib": 2 << 40, "3T": 3 << 40, "4TB": 4e12,
		"1PiB": 1 << 50, "2P": 2 << 50, "3PB": 3e15, "1EiB": 1 << 60, "7E": 7 << 60, "9EB": 9e18,
		"8191PiB": 8191 << 50, "9223372036854775807": math.MaxInt64, "9223372036854775807B": math.MaxInt64,
	} {
		got, err := ParseBytes(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"8EiB", "8192PiB", "10EB", "9223372036854775808", "9007199254740992KiB", "16EiB", "17179869184GiB", "18446744073709551616", "16777216TiB",
	} {
		_, err := ParseBytes(text)
		assert.ErrorContains(t, err, "bad size", text)
		assert.ErrorContains(t, err, "the most is", text)
	}
	for _, text := range []string{"", "TiB", "-1TiB", "1.5PiB", "0x10", "8 8", "1TiBB", "1KTiB", "1ZiB", "+1", "1_000"} {
		_, err := ParseBytes(text)
		assert.ErrorContains(t, err, "want a whole number", text)
	}
}

func TestParseSizeRejects(t *testing.T) {
	for _, text := range []string{"", "KiB", "-1", "1.5MiB", "1TiB", "17GiB", "16777216TiB", "8EiB", "9223372036854775807", "9999999999999999999999", "0x10", "8 8", "1KiBB"} {
		_, err := ParseSize(text)
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), "bad size", text)
	}
}

func TestParseSizes(t *testing.T) {
	for text, want := range map[string][]int{
		"8":            {8},
		"0,8,64KiB":    {0, 8, 65536},
		"8,8,0,8":      {8, 0},
		"0-8":          {0, 1, 2, 4, 8},
		"1KiB..4KiB":   {1024, 2048, 4096},
		"3-20,1":       {3, 6, 12, 20, 1},
		"8-8":          {8},
		"64MiB,0..1":   {64 << 20, 0, 1},
		"1MiB-2MiB,4K": {1 << 20, 2 << 20, 4096},
	} {
		got, err := ParseSizes(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", ",", "8,", "8-4", "8..", "a-b", "-8"} {
		_, err := ParseSizes(text)
		assert.Error(t, err, text)
	}
	_, err := ParseSizes(strings.Repeat("1,", 300) + "1")
	assert.NoError(t, err, "repetitions do not count")
}

func TestFormatSizeIsReadBack(t *testing.T) {
	for _, n := range []int{0, 1, 8, 1000, 1023, 1024, 1025, 1536, 65536, 1 << 20, 3 << 20, 1<<20 + 1, 1 << 30, SizeMax} {
		got, err := ParseSize(FormatSize(n))
		require.NoError(t, err, FormatSize(n))
		assert.Equal(t, n, got)
	}
	assert.Equal(t, "64 KiB", FormatSize(65536))
	for n, want := range map[int]string{
		1 << 40: "1 TiB", 3 << 50: "3 PiB", 7 << 60: "7 EiB", 1<<60 + 1<<50: "1025 PiB", math.MaxInt64: "9223372036854775807 B", 1<<40 + 1<<30: "1025 GiB",
	} {
		assert.Equal(t, want, FormatSize(n))
		got, err := ParseBytes(want)
		require.NoError(t, err, want)
		assert.EqualValues(t, n, got)
	}
}

func FuzzParseSizes(f *testing.F) {
	for _, s := range []string{"8", "0-64MiB", "1KiB..2GiB,7", "8-4", "99999999999999999999G", "1-16GiB,k"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sizes, err := ParseSizes(text)
		if err != nil {
			return
		}
		for _, n := range sizes {
			require.GreaterOrEqual(t, n, 0)
			require.LessOrEqual(t, n, SizeMax)
		}
	})
}
