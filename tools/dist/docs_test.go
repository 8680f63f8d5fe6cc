package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// each visits a command and those below it.
func each(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			each(sub, visit)
		}
	}
}

// TestManualPages: every command has a page, and every option is on it.
func TestManualPages(t *testing.T) {
	d, err := writeDocs(sample)
	require.NoError(t, err)
	for _, p := range programs {
		tree := p.tree()
		each(tree, func(cmd *cobra.Command) {
			name := strings.Replace(strings.ReplaceAll(cmd.CommandPath(), " ", "-"), p.name, p.installed, 1)
			page := string(d.pages[name+"."+p.section])
			require.NotEmpty(t, page, name)
			text := strings.ReplaceAll(page, `\-`, "-")
			assert.Contains(t, text, "Viaduct "+sample.version, name)
			flags := func(f *pflag.Flag) {
				if !f.Hidden {
					assert.Contains(t, text, "--"+f.Name+`\fP`, name)
				}
			}
			cmd.LocalFlags().VisitAll(flags)
			cmd.InheritedFlags().VisitAll(flags)
		})
	}
	serve := string(d.pages["pvfsd-serve.8"])
	for _, text := range []string{"<ExportOptions>", "VIADUCT_UDP_KEY_FILE", "\n* for all other authenticated"} {
		assert.Contains(t, serve, text, "as the help has it")
	}
}

// TestManualPagesAreValid asks mandoc, and man, which must show the text.
func TestManualPagesAreValid(t *testing.T) {
	mandoc := need.Program(t, "mandoc")
	d, err := writeDocs(sample)
	require.NoError(t, err)
	dir := t.TempDir()
	var names []string
	for name, page := range d.pages {
		names = append(names, filepath.Join(dir, name))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), page, 0o644))
	}
	out, _ := exec.Command(mandoc, append([]string{"-Tlint", "-Werror"}, names...)...).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		// The target of .so is looked for beside the folder that is installed.
		assert.True(t, strings.Contains(line, ".so"), line)
	}
	page := run(t, mandoc, "-Tascii", filepath.Join(dir, "bmi-ping.1"))
	assert.Contains(t, page, "ADDR")
}

// completer runs a completion script as the package bash-completion does, whose function it brings along.
const completer = `
_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
__ltrim_colon_completions() { :; }
compopt() { :; }
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
"__start_$1"
printf '%s\n' "${COMPREPLY[@]}"
`

// TestBashCompletes: bash completes commands and options of the programs as they are.
func TestBashCompletes(t *testing.T) {
	need.Program(t, "bash")
	m := all(t)
	d, err := writeDocs(sample)
	require.NoError(t, err)
	dir := t.TempDir()
	for _, p := range programs { // under the names that packages give them
		require.NoError(t, os.Symlink(filepath.Join(m.bin, p.name), filepath.Join(dir, p.installed)))
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for line, want := range map[string]string{
		"bmi pe":                    "perf",
		"bmi perf --wind":           "--window",
		"bmi plugins ch":            "check",
		"pvfs trunc":                "truncate",
		"pvfsd serve --other":       "--other-users",
		"mpiexec.viaduct -n 4 --wd": "--wdir",
		"mpibench --iter":           "--iterations",
	} {
		words := strings.Fields(line)
		script := filepath.Join(dir, words[0]+".bash")
		require.NoError(t, os.WriteFile(script, d.completions[words[0]].bash, 0o644))
		out := run(t, "bash", append([]string{"--norc", "-c", completer, "bash", script}, words...)...)
		assert.Equal(t, want, strings.TrimRight(strings.TrimSpace(out), "="), line)
	}
	for name, c := range d.completions {
		assert.Contains(t, string(c.zsh), "#compdef "+name)
		assert.Contains(t, string(c.fish), "complete -c "+name)
	}
}
