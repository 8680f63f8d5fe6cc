package command

import (
	"bytes"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/mpiperf"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/version"
)

func TestOptionsBecomeAPlan(t *testing.T) {
	var help bytes.Buffer
	var opt options
	require.NoError(t, parse([]string{
		"--sizes", "8,1KiB-4KiB", "--ranks", "2-8", "--window=16", "--time", "5ms", "--batches", "3", "--check", "--json", "--pin", "0,1", "--memory", "created", "--file", "f", "rate", "scan",
	}, &help, &opt))
	assert.Empty(t, help.String())
	assert.True(t, opt.json)
	assert.Equal(t, mpiperf.Plan{
		Tests: []perf.Test{perf.Rate, "scan"}, Sizes: []int{8, 1024, 2048, 4096}, Ranks: []int{2, 4, 8},
		Window: 16, Time: 5 * time.Millisecond, Batches: 3, Check: true, Created: true, File: "f", OwnProcess: true,
	}, opt.plan)
}

func TestNoTestsAreAll(t *testing.T) {
	var opt options
	require.NoError(t, parse(nil, &bytes.Buffer{}, &opt))
	all, err := mpiperf.ParseTests([]string{"all"})
	require.NoError(t, err)
	assert.Equal(t, all, opt.plan.Tests)
	assert.Equal(t, pinOn, opt.pin)
}

func TestHelpIsWrittenWhereItIsWanted(t *testing.T) {
	var help bytes.Buffer
	require.NoError(t, parse([]string{"--help"}, &help, &options{}))
	for _, s := range []string{"reduce_scatter_block", "--iterations", "Exit codes"} {
		assert.Contains(t, help.String(), s)
	}
}

// TestOfShells: completions need no job, and the version is written like help.
func TestOfShells(t *testing.T) {
	var out bytes.Buffer
	app := &App{Out: &out}
	require.Zero(t, app.Main(t.Context(), []string{cobra.ShellCompRequestCmd, "--win"}))
	assert.Contains(t, out.String(), "--window\tmessages under way")
	assert.NotContains(t, out.String(), "Completion ended")

	var help bytes.Buffer
	require.NoError(t, parse([]string{"--version"}, &help, &options{}))
	assert.Equal(t, version.Line("mpibench"), help.String())
	assert.NotNil(t, Command().Flags().Lookup("tune"))
}

func TestCoresOfPin(t *testing.T) {
	for _, none := range []string{pinOn, pinOff} {
		cores, err := parseCores(none)
		require.NoError(t, err)
		assert.Empty(t, cores)
	}
	cores, err := parseCores("3,0")
	require.NoError(t, err)
	assert.Equal(t, []int{3, 0}, cores)
	for _, bad := range []string{"", "-1", "0,", "0;1"} {
		_, err := parseCores(bad)
		assert.ErrorIs(t, err, program.ErrUsage, bad)
	}
}
