package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// fakeFiles returns a contender of the file system that takes the given seconds to copy in and half of that to copy
// out, and does rate operations a second.
func fakeFiles(name string, seconds, rate float64) contender {
	return contender{name: name, run: func(context.Context) ([]perf.Result, error) {
		all := []perf.Result{{Test: pvfsIn, Size: 7, Median: seconds}, {Test: pvfsOut, Size: 7, Median: seconds / 2}}
		for _, clients := range []int{1, pvfsCrowd} {
			for _, act := range pvfsActs {
				all = append(all, perf.Result{Test: namesTest(act, clients), Median: rate})
			}
		}
		return all, nil
	}}
}

// TestRowsOfTwoBuilds: a build that is slower in one test misses that row alone.
func TestRowsOfTwoBuilds(t *testing.T) {
	all := newResults()
	for _, c := range []contender{
		fakeFiles(pvfsTCP, 0.8, 1600), fakeFiles(pvfsTCP+beforeSuffix, 0.7, 1600),
		fakeFiles(pvfsShm, 0.5, 7700), fakeFiles(pvfsShm+beforeSuffix, 0.5, 8000),
	} {
		all.add(context.Background(), c)
	}
	got := buildRows(all)
	require.Len(t, got, 16)
	assert.Equal(t, row{
		What: "pvfs, two builds: pvfs-in, pvfs tcp", Value: "0.800 s", Best: "0.87 × of the earlier build (0.700 s)",
		Reach: "≥ 0.95 × before", Aim: "≥ 1.00 × before", Verdict: isMissed,
	}, got[0])
	assert.Equal(t, isAim, got[2].Verdict)
	assert.Equal(t, "pvfs, two builds: pvfs-remove-16, pvfs via+shm", got[15].What)
	assert.Equal(t, isReach, got[15].Verdict)

	for _, r := range buildRows(newResults()) {
		assert.Equal(t, isUnknown, r.Verdict, r.What)
	}
}

func TestPVFSRowsOfKnownNumbers(t *testing.T) {
	all := newResults()
	for _, c := range []contender{
		fakeFiles(pvfsStock, 1, 800), fakeFiles(pvfsTCP, 0.8, 1600), fakeFiles(pvfsShm, 0.5, 8000), fakeFiles(pvfsBare, 0.4, 1),
		fakeFiles(pvfsSockets, 0.5, 1),
		fakeFiles(pvfsOnStock, 0.7, 1200), fakeFiles(pvfsForStock, 0.9, 700),
	} {
		all.add(context.Background(), c)
	}
	server := 40.0 * (1 << 20)
	got := pvfsRows(all, counts{PVFSServerBytes: &server})
	require.Len(t, got, 21)
	assert.Equal(t, row{
		What: "pvfs: 1 GiB in, tcp", Value: "0.800 s", Bare: "1.60 × (0.500 s)", Best: "1.25 × of orangefs (1.000 s)",
		Reach: "≥ 1.3 × orangefs", Aim: "≥ 1.3 × orangefs", Verdict: isMissed,
	}, got[0])
	assert.Equal(t, row{
		What: "pvfs: 1 GiB in, via+shm", Value: "0.500 s", Bare: "1.25 × (0.400 s)", Best: "2.00 × of orangefs (1.000 s)",
		Reach: "≥ 1.7 × orangefs", Aim: "≤ 1.3 × bare", Verdict: isAim,
	}, got[1])
	assert.Equal(t, "≥ 3.5 × orangefs", got[3].Aim)
	assert.Equal(t, []string{isMissed, isMissed}, []string{got[2].Verdict, got[3].Verdict}, "out")
	assert.Equal(t, isAim, got[4].Verdict)
	assert.Equal(t, "in 1.43 × (0.700 s), out 1.43 × (0.350 s), creates 1.50 × (1200/s), stats 1.50 × (1200/s), removes 1.50 × (1200/s)", got[4].Value)
	assert.Equal(t, "1.43 × of orangefs at least (1.000 s, 0.500 s, 800/s, 800/s, 800/s)", got[4].Best)
	assert.Equal(t, isMissed, got[5].Verdict, "one that is worse is enough")
	assert.Equal(t, "pvfs: creates, clients: 1, tcp", got[6].What)
	assert.Equal(t, isReach, got[6].Verdict)
	assert.Equal(t, isAim, got[7].Verdict)
	assert.Equal(t, "pvfs: removes, clients: 16, via+shm", got[17].What)
	assert.Equal(t, []string{"40.0 MiB", isReach}, []string{got[18].Value, got[18].Verdict})
	assert.Equal(t, isUnknown, got[19].Verdict)

	all = newResults()
	all.add(context.Background(), fakeFiles(pvfsTCP, 0.8, 1600))
	all.add(context.Background(), absent(pvfsStock, "not installed: set "+orangefsVariable))
	for _, r := range pvfsRows(all, counts{})[:18] {
		assert.Equal(t, isUnknown, r.Verdict, r.What)
		assert.Equal(t, "not installed: set ORANGEFS_PREFIX", r.Best, r.What)
	}
}

// TestFileSystemsAreMeasured runs everything with small sizes: ours, and OrangeFS where it is installed.
func TestFileSystemsAreMeasured(t *testing.T) {
	cores := onTwoCores(t)
	t.Chdir("..") // where the sources are
	bin := t.TempDir()
	require.NoError(t, programs.Build(bin, "cmd/pvfs", "cmd/pvfsd"))
	cfg := config{
		pvfs: filepath.Join(bin, "pvfs"), pvfsd: filepath.Join(bin, "pvfsd"), work: bin, cores: cores, only: groupPVFS,
		pvfsBytes: 3<<20 + 5, pvfsIdle: 8, pvfsLess: 100,
	}
	defer removePVFSInput()
	for _, c := range prepare(t.Context(), cfg) {
		t.Run(c.name, func(t *testing.T) {
			if c.missing != "" {
				need.Unless(t, need.Peers, errors.New(c.missing))
			}
			got, err := c.run(t.Context())
			require.NoError(t, err)
			tests := make(map[perf.Test]bool)
			for _, r := range got {
				assert.Positive(t, r.Median, r.Test)
				tests[r.Test] = true
			}
			assert.True(t, tests[pvfsIn] && tests[pvfsOut])
			if c.name != pvfsBare && c.name != pvfsSockets {
				assert.Len(t, tests, 2+2*len(pvfsActs))
			}
		})
	}
	c := countThings(t.Context(), cfg)
	assert.Empty(t, c.Problems)
	require.NotNil(t, c.PVFSServerBytes)
	require.NotNil(t, c.PVFSServerShmBytes)
	assert.Greater(t, *c.PVFSServerShmBytes, 1e6)
	require.Len(t, c.PVFSStrangers, len(attackNames))
	for _, s := range c.PVFSStrangers {
		assert.Positive(t, s.Median, s.Attack)
	}

	left, err := filepath.Glob(filepath.Join(memoryFolder, memoryName("*")))
	require.NoError(t, err)
	assert.Equal(t, []string{inputName()}, left, "servers leave nothing behind")
	info, err := os.Stat(inputName())
	require.NoError(t, err)
	assert.Equal(t, cfg.pvfsBytes, info.Size())
}
