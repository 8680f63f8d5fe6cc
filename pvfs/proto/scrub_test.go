package proto

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

var scrubReport = ScrubReport{
	Running: true, Began: 1790000000, Datafiles: 12, Bytes: 1 << 30, DatafilesAll: 40, Found: 2,
	Damage: []ScrubDamage{
		{Datafile: 4611686018427387904, Metafile: 1152921504606846976, Offset: 4096, Length: 8192, What: "not what was written"},
		{What: "object 7: wrong checksum"},
	},
}

// TestScrubTexts: keys, orders and reports parse to their original values, and other texts are refused.
func TestScrubTexts(t *testing.T) {
	for key, want := range map[string]int{ScrubKey: 0, ScrubFrom(0): 0, ScrubFrom(7): 7, ScrubFrom(1 << 30): 1 << 30} {
		from, ok := ParseScrubKey(key)
		require.True(t, ok, key)
		require.Equal(t, want, from)
	}
	for _, key := range []string{"", "user.x", ScrubKey + "x", ScrubKey + ".", ScrubKey + ".x", ScrubKey + ".-1", ScrubKey + ".99999999999"} {
		_, ok := ParseScrubKey(key)
		require.False(t, ok, key)
	}
	for _, o := range []ScrubOrder{{}, {Stop: true}, {Rate: math.MaxInt64}} {
		got, err := ParseScrubOrder(o.String())
		require.NoError(t, err)
		require.Equal(t, o, got)
	}
	for _, text := range []string{"", "start", "start ", "start -1", "start 1 2", "begin", "stop 1"} {
		_, err := ParseScrubOrder(text)
		require.ErrorIs(t, err, EINVAL, text)
	}
	value, err := scrubReport.Value()
	require.NoError(t, err)
	golden.CheckVectors(t, "testdata/scrub.golden", []golden.Vector{
		{Name: "order", Bytes: []byte(ScrubOrder{Rate: 64 << 20}.String())},
		{Name: "report", Bytes: value},
	})
	got, err := ParseScrubReport(value)
	require.NoError(t, err)
	require.Equal(t, scrubReport, got)
}

// TestScrubReportFits: the longest report fits into an attribute.
func TestScrubReportFits(t *testing.T) {
	r := ScrubReport{Began: math.MaxInt64, Ended: math.MaxInt64, Datafiles: math.MaxInt64, Bytes: math.MaxInt64, DatafilesAll: math.MaxInt64,
		Error: strings.Repeat("e", 4*ScrubWhatMax), Found: math.MaxInt32, From: math.MaxInt32 - ScrubPage}
	for range ScrubPage {
		r.Damage = append(r.Damage, ScrubDamage{math.MaxUint64, math.MaxUint64, math.MaxInt64, math.MaxInt64, strings.Repeat("w", ScrubWhatMax)})
	}
	value, err := r.Value()
	require.NoError(t, err)
	require.LessOrEqual(t, len(value), MaxXattrValue)
}

// TestReportsThatContradictThemselves: places that there cannot be are refused, also where their number does not fit.
func TestReportsThatContradictThemselves(t *testing.T) {
	for _, text := range []string{
		`{"found":-1}`, `{"found":1,"from":-1}`, `{"found":1,"damage":[{},{}]}`, `{"found":1,"from":1,"damage":[{}]}`,
		`{"found":1,"from":9223372036854775807,"damage":[{}]}`,
	} {
		_, err := ParseScrubReport([]byte(text))
		require.ErrorIs(t, err, EPROTO, text)
	}
}

// FuzzScrubReport: a server's text is refused, or is a report that can be encoded again.
func FuzzScrubReport(f *testing.F) {
	value, _ := scrubReport.Value()
	f.Add(value)
	f.Add([]byte(`{"found":1,"damage":[{},{}]}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := ParseScrubReport(value)
		if err != nil {
			require.ErrorIs(t, err, EPROTO)
			return
		}
		again, err := r.Value()
		require.NoError(t, err)
		got, err := ParseScrubReport(again)
		require.NoError(t, err)
		require.Equal(t, r, got)
	})
}
