package mpi

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// TestSettingsTravel: the largest table that is allowed fits a launcher, and arrives as it was.
func TestSettingsTravel(t *testing.T) {
	var rules []coll.Rule
	for i := range 800 {
		rules = append(rules, coll.Rule{
			Operation: coll.Operations[i%3], Where: coll.ManyHosts, Ranks: 100 + i, Bytes: 1 + i*i*i, Algorithm: coll.Hierarchical,
		})
	}
	table, err := coll.NewTuning(rules)
	require.NoError(t, err)
	require.Greater(t, len(table.String()), coll.TuningBytesMax*9/10)
	number := newJobNumber()
	text := settingsText{RanksPerHost: 7, Tuning: table.String(), Spread: onOneHost, Number: number[:]}.encode()
	assert.LessOrEqual(t, len(text), textBytesMax)
	got, err := parseSettings(text)
	require.NoError(t, err)
	assert.Equal(t, settings{ranksPerHost: 7, tuning: table, spread: onOneHost, number: number}, got)
}

// TestHostileSettings: all settings that a launcher passes on are checked.
func TestHostileSettings(t *testing.T) {
	number := make([]byte, len(jobNumber{}))
	for text, says := range map[string]string{
		"":    "run the same release everywhere",
		"???": "run the same release everywhere",
		base64.RawURLEncoding.EncodeToString([]byte("{}")):                       "run the same release everywhere",
		settingsText{Tuning: strings.Repeat(" ", settingsBytesMax)}.encode():     "run the same release everywhere",
		settingsText{RanksPerHost: -1}.encode():                                  "rank 0 puts -1 ranks on a host",
		settingsText{Tuning: "viaduct-tuning 1\nbcast", Number: number}.encode(): "the tuning table of rank 0:2: 1 words",
		settingsText{Number: number[1:]}.encode():                                "run the same release everywhere",
		settingsText{Number: number, Spread: spreadEnd}.encode():                 "run the same release everywhere",
		settingsText{Number: number, Spread: -1}.encode():                        "run the same release everywhere",
		settingsText{Wrong: "\x1b[2J"}.encode():                                  `rank 0 has wrong settings: "\x1b[2J"`,
	} {
		_, err := parseSettings(text)
		require.Error(t, err)
		assert.ErrorContains(t, err, says)
		assert.NotEqual(t, errclass.Success, errclass.Of(err))
	}
}

// TestTooLongSettings: a table that does not compress is an error in all processes.
func TestTooLongSettings(t *testing.T) {
	b := &narrow{max: 1000, pairs: map[string]string{}}
	long := settingsText{Wrong: strings.Repeat("x", 100)}
	require.NoError(t, tellText(t.Context(), b, long, 10))
	text, err := learn(t.Context(), b, settingsKey, 0)
	require.NoError(t, err)
	_, err = parseSettings(text)
	assert.ErrorContains(t, err, "too long for the launcher")
}
