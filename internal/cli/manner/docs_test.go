package manner

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

var (
	// program in a command line: its name, perhaps with a folder.
	commandStart = regexp.MustCompile(`(?:^|[\s` + "`" + `(|&;'"=])((?:[\w./$-]*/)?(?:bmi|pvfs|pvfsd|mpiexec|mpibench))\s`)
	// an option whose value is a name that looks like a program: runuser -u pvfs.
	optionBefore = regexp.MustCompile(`\s-[a-z]\s+$`)
	// a word of a command line, also in quotes.
	word = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
)

// TestDocumentsSpellOptionsAsHelpDoes: each option in a command line of the documents exists in this spelling. With -update,
// options with one dash get their second one.
func TestDocumentsSpellOptionsAsHelpDoes(t *testing.T) {
	pages := []string{"../../../README.md"}
	require.NoError(t, filepath.WalkDir("../../../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") && !strings.Contains(path, "/decisions/") {
			pages = append(pages, path)
		}
		return err
	}))
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		fixed, n, problems := checkPage(string(text))
		checked += n
		if golden.Updating() && !bytes.Equal(text, []byte(fixed)) {
			require.NoError(t, os.WriteFile(page, []byte(fixed), 0o644))
			_, _, problems = checkPage(fixed)
		}
		for _, p := range problems {
			assert.Fail(t, filepath.Base(page)+p)
		}
	}
	assert.Greater(t, checked, 100, "options were looked at")
}

// TestWrongOptionsAreFound: the check finds what it is for.
func TestWrongOptionsAreFound(t *testing.T) {
	for line, want := range map[string]string{
		"    bmi perf tcp -json":                               ":1: bmi perf has --json, not -json",
		"    bmi perf tcp --jsn":                               ":1: bmi perf has no option --jsn",
		"    mpiexec -n 2 --hosts a prog -x --strange":         "",
		"    mpiexec --hots a prog":                            ":1: mpiexec has no option --hots",
		"    mpiexec -n 2 bin/mpibench -check latency":         ":1: mpibench has --check, not -check",
		"    tar c . | bmi send via+shm://x -wait 1s | cat -z": ":1: bmi send has no option -wait",
		"Run `pvfsd serve -alias a` there":                     ":1: pvfsd serve has --alias, not -alias",
		"    pvfs ls -la /":                                    "",
		"    pvfs ls -lz /":                                    ":1: pvfs ls has no option -lz",
		"    bmi plugins run x --env A=b -- info -json":        ":1: bmi info has --json, not -json",
		"```sh\nrunuser -u pvfs -- pvfsd mkfs -config x\n```":  ":2: pvfsd mkfs has --config, not -config",
		"```\n```\nrunuser -u pvfs -- pvfsd mkfs -config x":    "",
		"    bmi info --json  # and -quiet is not one":         "",
	} {
		_, _, problems := checkPage(line)
		assert.Equal(t, want, strings.Join(problems, "\n"), line)
	}
	fixed, _, _ := checkPage("run `bmi perf tcp -json -size 8` and -json\n    pvfs cp -r -verify a :b\n")
	assert.Equal(t, "run `bmi perf tcp --json -size 8` and -json\n    pvfs cp -r --verify a :b\n", fixed)
}

// checkPage checks the command lines of a page.
func checkPage(text string) (fixed string, checked int, problems []string) {
	var out strings.Builder
	number, fenced := 0, false
	for line := range strings.Lines(text) {
		number++
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		for _, m := range commandStart.FindAllStringSubmatchIndex(line, -1) {
			if !fenced && !isCode(line, m[2]) || optionBefore.MatchString(line[:m[2]]) || strings.Contains(line[:m[2]], "go test ") {
				continue
			}
			end := len(line)
			if i := strings.IndexByte(line[m[2]:], '`'); i >= 0 {
				end = m[2] + i
			}
			c := commandLine{text: line[m[2]:end]}
			c.check()
			checked += c.checked
			for _, p := range c.problems {
				problems = append(problems, fmt.Sprintf(":%d: %s", number, p))
			}
			line = line[:m[2]] + c.fixed() + line[end:]
			if len(c.edits) > 0 { // positions have changed: look again
				break
			}
		}
		out.WriteString(line)
	}
	if fixed = out.String(); fixed != text {
		again, _, _ := checkPage(fixed)
		fixed = again
	}
	return fixed, checked, problems
}

// isCode tells whether a place in a line is in an indented block or in quotes of code.
func isCode(line string, at int) bool {
	return strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "$ ") || strings.Count(line[:at], "`")%2 == 1 || at == 0
}

// A commandLine is a command line that is being checked.
type commandLine struct {
	text     string
	checked  int
	problems []string
	edits    []int // where a dash is missing
}

func (c *commandLine) fixed() string {
	text := c.text
	for _, at := range slices.Backward(c.edits) {
		text = text[:at] + "-" + text[at:]
	}
	return text
}

// check goes through the words up to the end of the command.
func (c *commandLine) check() {
	var cmd *cobra.Command
	root := ""
	skip, stop := false, false
	for n, at := range word.FindAllStringIndex(c.text, -1) {
		one := c.text[at[0]:at[1]]
		switch {
		case n == 0:
			root = filepath.Base(one)
			cmd = programOf(root)
			continue
		case strings.HasPrefix(one, "#"), one == "|", one == "&&", one == ";", one == "&", one == "||", strings.HasPrefix(one, ">"), strings.HasPrefix(one, ")"):
			return
		case skip:
			skip = false
			continue
		case stop:
			continue
		case one == "--":
			if root == "bmi" && cmd.Name() == "run" { // another command of bmi follows
				cmd = programOf(root)
				continue
			}
			stop = true
			continue
		case one == ":" && root == "mpiexec":
			cmd = programOf(root)
			continue
		case strings.HasPrefix(one, "-") && len(one) > 1 && one[1] != '>':
			skip = c.option(cmd, strings.TrimRight(one, ",.;:)"), at[0])
			continue
		}
		if root == "mpiexec" { // the rest is another program
			if programOf(filepath.Base(one)) == nil {
				return
			}
			root = filepath.Base(one)
			cmd = programOf(root)
			continue
		}
		if sub, _, err := cmd.Find([]string{one}); err == nil && sub != cmd {
			cmd = sub
		}
		if strings.HasSuffix(one, ";") || strings.HasSuffix(one, ")") {
			return
		}
	}
}

// option checks one word, and tells whether the next one is its value.
func (c *commandLine) option(cmd *cobra.Command, one string, at int) (value bool) {
	name, _, attached := strings.Cut(strings.TrimLeft(one, "-"), "=")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	c.checked++
	dashes := len(one) - len(strings.TrimLeft(one, "-"))
	f := lookup(cmd, name)
	switch {
	case f == nil && dashes == 1 && len(name) > 1 && allShort(cmd, name):
		return false
	case f == nil || f.Hidden || len(name) > 1 && f.Name != name:
		c.problems = append(c.problems, fmt.Sprintf("%s has no option %s", cmd.CommandPath(), one))
		return false
	case dashes == 1 && len(name) > 1:
		c.problems = append(c.problems, fmt.Sprintf("%s has --%s, not %s", cmd.CommandPath(), name, one))
		c.edits = append(c.edits, at)
	}
	return !attached && f.NoOptDefVal == ""
}

func lookup(cmd *cobra.Command, name string) *pflag.Flag {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	sets := []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags(), cmd.PersistentFlags()}
	for _, set := range sets {
		if len(name) == 1 {
			if f := set.ShorthandLookup(name); f != nil {
				return f
			}
		}
		if f := set.Lookup(name); f != nil {
			return f
		}
	}
	return nil
}

// allShort tells whether a word is several short options, as in ls -la.
func allShort(cmd *cobra.Command, letters string) bool {
	for _, c := range letters {
		if f := lookup(cmd, string(c)); f == nil || f.NoOptDefVal == "" {
			return false
		}
	}
	return true
}
