package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// A sorter sorts a file on some processes.
type sorter struct {
	name string
	line func(ranks int) []string // to which files are appended
}

// sortersInC returns peers/samplesort.c with the MPIs that are installed.
func sortersInC(t *testing.T, cfg config) []sorter {
	t.Helper()
	var all []sorter
	for _, name := range []string{openMPI, mpich} {
		p := mpiPrograms[name]
		if !find(p.compiler, p.launcher) {
			t.Logf("%s: %s", name, notInstalled)
			continue
		}
		program := filepath.Join(cfg.work, name)
		text, err := exec.Command(p.compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, "peers/samplesort.c").CombinedOutput()
		require.NoError(t, err, "%s", text)
		args := []string{p.launcher}
		if name == openMPI {
			args = append(args, "--allow-run-as-root", "--oversubscribe")
		}
		all = append(all, sorter{name: name, line: func(ranks int) []string {
			return append(args[:len(args):len(args)], "-np", strconv.Itoa(ranks), program)
		}})
	}
	return all
}

// TestSampleSortsAgree: the programs compared do the same work, down to the bytes of the
// output.
func TestSampleSortsAgree(t *testing.T) {
	cfg := config{work: t.TempDir()}
	others := sortersInC(t, cfg)
	if len(others) == 0 {
		need.Unless(t, need.Peers, errors.New("neither Open MPI nor MPICH is installed"))
	}
	require.NoError(t, programs.Build(cfg.work, "cmd/mpiexec", "examples/mpi/samplesort"))

	ours := func(ranks int) []string {
		return []string{filepath.Join(cfg.work, "mpiexec"), "-no-label", "-n", strconv.Itoa(ranks), filepath.Join(cfg.work, "samplesort")}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	run := func(line ...string) {
		out, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput()
		require.NoError(t, err, "%v: %s", line, out)
		require.Regexp(t, sortLine, string(out))
	}
	in, want, got := filepath.Join(cfg.work, "in"), filepath.Join(cfg.work, "want"), filepath.Join(cfg.work, "got")
	for _, c := range []struct {
		kind           string
		records, ranks int
	}{{"uniform", 200_003, 4}, {"few", 70_001, 3}, {"skewed", 50_000, 5}, {"constant", 999, 2}, {"reverse", 100, 1}, {"uniform", 3, 4}} {
		run(append(ours(c.ranks), "-generate", strconv.Itoa(c.records), "-kind", c.kind, in, want)...)
		sorted, err := os.ReadFile(want)
		require.NoError(t, err)
		for _, o := range others {
			run(append(o.line(c.ranks), in, got)...)
			theirs, err := os.ReadFile(got)
			require.NoError(t, err)
			assert.Equal(t, len(sorted), len(theirs))
			assert.True(t, string(sorted) == string(theirs), "%s gives other bytes for %d records, %s, on %d ranks", o.name, c.records, c.kind, c.ranks)
		}
	}
}
