package cli

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/cli/pvfs"
	"github.com/viaduct-hpc/viaduct/internal/cli/pvfsd"
)

// TestExitCodesPage: docs/reference/exit-codes.md has all codes, and the help of each command lists those that the page gives it.
func TestExitCodesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/exit-codes.md")
	require.NoError(t, err)
	columns := map[string]int{"bmi": 3, "pvfs": 4, "pvfsd": 5}
	want, all := map[string][]string{}, []string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if !regexp.MustCompile(`^\| \d+ \|`).MatchString(line) {
			continue
		}
		code := strings.TrimSpace(cells[1])
		all = append(all, code)
		for command, column := range columns {
			if strings.TrimSpace(cells[column]) == "yes" {
				want[command] = append(want[command], code)
			}
		}
	}
	assert.Equal(t, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "130"}, all)
	assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 130}, []int{
		program.ExitOK, program.ExitFailed, program.ExitUsage, program.ExitNobody, program.ExitPeerFailed, program.ExitChecksum,
		program.ExitBusy, program.ExitInUse, program.ExitDamaged, program.ExitInterrupted,
	})
	for command, help := range map[string]func(*bytes.Buffer) int{
		"bmi": func(out *bytes.Buffer) int { return (&App{Out: out, Err: out}).Main(t.Context(), []string{"--help"}) },
		"pvfs": func(out *bytes.Buffer) int {
			return (&pvfs.App{Out: out, Err: out}).Main(t.Context(), []string{"--help"})
		},
		"pvfsd": func(out *bytes.Buffer) int {
			return (&pvfsd.App{Out: out, Err: out}).Main(t.Context(), []string{"--help"})
		},
	} {
		var out bytes.Buffer
		require.Equal(t, program.ExitOK, help(&out))
		_, codes, found := strings.Cut(out.String(), "Exit codes: ")
		require.True(t, found, command)
		codes, _, _ = strings.Cut(codes, ".\n")
		var listed []string
		for _, m := range regexp.MustCompile(`(?:^|, |,\n)(\d+) `).FindAllStringSubmatch(codes, -1) {
			listed = append(listed, m[1])
		}
		assert.Equal(t, want[command], listed, "%s: %s", command, codes)
	}
}
