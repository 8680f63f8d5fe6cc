package units

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBytesAreReadBack(t *testing.T) {
	for _, n := range []int64{0, 1, 1023, 1024, 1536, 1 << 20, 3 << 40, 7 << 60, 1<<40 + 1<<30, math.MaxInt64} {
		got, err := ParseBytes(FormatBytes(n))
		require.NoError(t, err, FormatBytes(n))
		assert.Equal(t, n, got)
	}
	_, err := ParseBytesUpTo("2KiB", 2047)
	assert.ErrorContains(t, err, `bad size "2KiB": the most is 2047 B`)
}

func TestHumanBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 200 << 20: "200 MiB", 1 << 40: "1.0 TiB", math.MaxInt64: "8.0 EiB"} {
		assert.Equal(t, want, HumanBytes(n))
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"3": 3 * time.Second, "0.5": 500 * time.Millisecond, "200ms": 200 * time.Millisecond, "1m30s": 90 * time.Second, "-1s": -time.Second} {
		got, err := ParseDuration(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, bad := range []string{"", "x", "5x", "NaN", "Inf", "1e99", "3 s"} {
		_, err := ParseDuration(bad)
		assert.ErrorIs(t, err, ErrDuration, bad)
	}
}
