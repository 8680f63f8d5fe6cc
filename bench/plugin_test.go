package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

func TestPluginRowsOfKnownNumbers(t *testing.T) {
	all := newResults()
	for _, c := range []contender{
		fake(inTurn, 1), fake(inTurnRings, 1.5), fake(inTurnGRPC, 22.5),
		fake(inTurn+withRegistered, 9), fake(inTurnRings+withRegistered, 10),
	} {
		all.add(context.Background(), c)
	}
	got := pluginRows(all)
	require.Len(t, got, 5)
	assert.Equal(t, "1.00 µs (with one 1.50 µs, none 1.00 µs)", got[0].Value)
	assert.Equal(t, isReach, got[0].Verdict)
	assert.Equal(t, "10 % (with 104.86 GB/s, without 1048.58 GB/s)", got[1].Value)
	assert.Equal(t, isMissed, got[1].Verdict)
	assert.Equal(t, "90 % (with 104.86 GB/s, without 116.51 GB/s)", got[2].Value)
	assert.Equal(t, isReach, got[2].Verdict)
	assert.Equal(t, "67 % (with 699.05 GB/s, without 1048.58 GB/s)", got[3].Value)
	assert.Equal(t, isMissed, got[3].Verdict)
	assert.Equal(t, "15.00 × (22.5 µs, 1.50 µs)", got[4].Value)
	assert.Equal(t, isMissed, got[4].Verdict)

	for _, r := range pluginRows(newResults()) {
		assert.Equal(t, isUnknown, r.Verdict, r.What)
	}
	within, inTurns, ok := strings.Cut((&report{Points: all.points()}).pointTables(), "## Both endpoints in one program")
	require.True(t, ok)
	assert.NotContains(t, within, inTurn)
	assert.Contains(t, inTurns, "| in turn, plugin by rings | 1.500 |")
}

// TestInTurn: both endpoints in one program exchange messages of all sizes, in plain
// memory and in the method's own, without a plugin and with one, by rings and by gRPC.
func TestInTurn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, programs.Build(dir, "cmd/bmi-method-via"))
	plugin := filepath.Join(dir, "bmi-method-via")
	cores, err := perf.ParsePin("on")
	require.NoError(t, err)
	all := inTurnContenders(config{plugin: plugin, cores: cores, point: time.Millisecond})
	require.Len(t, all, len(overPlugins))
	for i, c := range all {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, overPlugins[i], c.name)
			got, err := c.run(t.Context())
			require.NoError(t, err)
			require.Len(t, got, len(inTurnSizes))
			for i, r := range got {
				assert.Equal(t, inTurnSizes[i], r.Size)
				assert.Positive(t, r.Median)
			}
		})
	}
}

// TestInTurnOfNothing: there is no plugin.
func TestInTurnOfNothing(t *testing.T) {
	_, err := command(t.Context(), nil, perf.SelfCommand()[0], roleInTurn, inTurnRings, "false", "/no/such/plugin", "on", "1ms")
	assert.ErrorContains(t, err, "/no: no such file")
}
