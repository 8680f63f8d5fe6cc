package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// limitOf returns a bare contender that takes the given microseconds for
// everything.
func limitOf(name string, test perf.Test, us float64) contender {
	return contender{name: name, run: func(context.Context) ([]perf.Result, error) {
		var out []perf.Result
		for _, size := range latencySizes {
			out = append(out, perf.Result{Test: test, Size: size, Median: us, Unit: perf.UnitMicros})
		}
		return out, nil
	}}
}

// fakeUDP is fake with the rate of every size that is measured over UDP.
func fakeUDP(name string, us float64) contender {
	c := fake(name, us)
	return contender{name: name, run: func(ctx context.Context) ([]perf.Result, error) {
		all, err := c.run(ctx)
		for _, size := range udpRateSizes[1:] {
			all = append(all, perf.Result{Test: perf.Rate, Size: size, Median: 5e6 / us, Unit: perf.UnitMessages})
		}
		return all, err
	}}
}

func udpResults(insecure, secure float64) *results {
	all := newResults()
	for _, c := range []contender{
		limitOf(bareUDP, perf.LimitUDP, 2), fakeUDP(oursUDP, insecure), fakeUDP(oursUDPSecure, secure),
		fake(libfabricUDP, 11), fake(openMPIUDP, 12), fake(ucxTCP, 3), fake(libfabricTCP, 2.5), fake(ours, 1), fake(oursTCP, 1),
	} {
		all.add(context.Background(), c)
	}
	return all
}

func TestUDPRowsOfKnownNumbers(t *testing.T) {
	allocs, idle := 0.0, 65.0*1024
	got := udpRows(udpResults(2.6, 4.5), counts{
		UDPAllocsPerMessage: &allocs, UDPConnectedBytes: &idle,
		UDPSimulated: &simulated{Goodput1: 0.99, Goodput5: 0.7, Fairness: 1, FairnessWorst: 0.9, FairnessCases: 7},
	})
	require.Len(t, got, 12)
	var verdicts []string
	for _, r := range got {
		verdicts = append(verdicts, r.Verdict)
	}
	assert.Equal(t, []string{isAim, isReach, isAim, isReach, isAim, isReach, isAim, isReach, isAim, isMissed, isReach, isAim}, verdicts)

	assert.Equal(t, "2.60 µs", got[0].Value)
	assert.Equal(t, "1.30 × (2.00 µs)", got[0].Bare)
	assert.Equal(t, "1.04 × of libfabric tcp (2.50 µs)", got[0].Best)
	assert.Equal(t, "2.25 × (2.00 µs)", got[1].Bare, "within 1.8 × and 1 µs")
	assert.Equal(t, "0.38 million/s; encrypted 0.22 million/s", got[2].Value)
	assert.Equal(t, "0.96 × of libfabric tcp (0.40 million/s); 4.62 × of openmpi udp", got[2].Best)
	assert.Equal(t, "403.30 GB/s; encrypted 233.02 GB/s", got[3].Value, "1 MiB in 2.6 µs")
	assert.Equal(t, "0.77 × (524.29 GB/s)", got[3].Bare)
	assert.Equal(t, "0.96 × of libfabric tcp (419.43 GB/s); 4.23 × of libfabric udp", got[3].Best)
	assert.Equal(t, "udp: 8 KiB half round trip, insecure", got[4].What)
	assert.Equal(t, "1.30 × (2.00 µs)", got[4].Bare)
	assert.Equal(t, "≤ 1.7 × bare UDP", got[4].Reach)
	assert.Equal(t, "1.92 million/s; encrypted 1.11 million/s", got[5].Value)
	assert.Equal(t, "99.0 %", got[6].Value)
	assert.Contains(t, got[9].What, "worst of 7 cases")
	assert.Equal(t, "65.0 KiB", got[10].Value)
	for _, r := range got[6:10] {
		assert.Contains(t, r.What, "simulated", "no measurement")
	}
}

func TestUDPVerdictsTurnAtTheMarks(t *testing.T) {
	for _, c := range []struct {
		insecure, secure float64
		want             [6]string
	}{
		{2, 2.7, [6]string{isAim, isAim, isAim, isAim, isAim, isAim}},
		{2.4, 2.7, [6]string{isAim, isAim, isAim, isAim, isAim, isReach}},
		{2.7, 3, [6]string{isReach, isReach, isAim, isReach, isAim, isReach}},
		{3, 3, [6]string{isMissed, isReach, isAim, isMissed, isReach, isReach}},
		{3.7, 4.7, [6]string{isMissed, isMissed, isReach, isMissed, isMissed, isMissed}},
		{6.1, 6, [6]string{isMissed, isMissed, isMissed, isMissed, isMissed, isMissed}},
	} {
		var got [6]string
		for i, r := range udpRows(udpResults(c.insecure, c.secure), counts{})[:6] {
			got[i] = r.Verdict
		}
		assert.Equal(t, c.want, got, "%v and %v µs", c.insecure, c.secure)
	}
}

func TestUDPRowsWithoutNumbers(t *testing.T) {
	for _, r := range udpRows(newResults(), counts{}) {
		assert.Equal(t, isUnknown, r.Verdict, r.What)
		assert.Equal(t, isUnknown, r.Value, r.What)
		assert.Empty(t, r.Bare, r.What)
	}
}

func TestTablesKeepUDPApart(t *testing.T) {
	text := (&report{Points: udpResults(2.5, 3.5).points()}).pointTables()
	within, rest, ok := strings.Cut(text, "## Over TCP: half")
	require.True(t, ok)
	tcp, over, ok := strings.Cut(rest, "## Over UDP: half")
	require.True(t, ok)
	half, _, _ := strings.Cut(over, "##")
	assert.Contains(t, half, "| via+udp insecure | 2.500 |")
	assert.Contains(t, half, "| via+udp secure | 3.500 |")
	assert.Contains(t, half, "| bare UDP | 2.000 |")
	assert.Contains(t, half, "| UCX over TCP | 3.000 |", "to compare with")
	assert.NotContains(t, half, "| tcp |")
	assert.NotContains(t, within+tcp, "via+udp")
	assert.Contains(t, within, "| via+shm |")
}

// The tables are the current ones of the transport's tests.
func TestSimulatedComesFromTheGoldenTables(t *testing.T) {
	s, err := readSimulated(filepath.Join("..", goldenFolder))
	require.NoError(t, err)
	for _, share := range []float64{s.Goodput1, s.Goodput5, s.Fairness, s.FairnessWorst} {
		assert.True(t, share > 0.3 && share <= 1.001, "%+v", s)
	}
	assert.Greater(t, s.FairnessCases, 3)

	_, err = readSimulated(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = parseSimulated("delay     1.0     9.75     99.2 x", "")
	require.ErrorContains(t, err, "look different")
}

func TestKeysAreMadeAndRemoved(t *testing.T) {
	file, remove, err := makeKey()
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	again, removeAgain, err := makeKey()
	require.NoError(t, err)
	defer removeAgain()
	one, err := os.ReadFile(file)
	require.NoError(t, err)
	two, err := os.ReadFile(again)
	require.NoError(t, err)
	assert.NotEqual(t, one, two)
	remove()
	assert.NoDirExists(t, filepath.Dir(file))
}

func TestVariantsSetAndRestoreTheEnvironment(t *testing.T) {
	t.Setenv(envKey, "somebody's own")
	t.Setenv(envInsecure, "1")
	require.NoError(t, os.Unsetenv(envKeyFile))
	require.NoError(t, secureUDP(config{keyFile: "file"}).within(func() error {
		assert.Equal(t, "file", os.Getenv(envKeyFile))
		assert.Empty(t, os.Getenv(envKey))
		assert.Empty(t, os.Getenv(envInsecure))
		return nil
	}))
	assert.Equal(t, "somebody's own", os.Getenv(envKey))
	assert.Equal(t, "1", os.Getenv(envInsecure))
	_, there := os.LookupEnv(envKeyFile)
	assert.False(t, there)
}
