package manner

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// textsIn are the folders whose texts users of the commands read: errors, logs and help.
var textsIn = []string{"cmd", "internal/cli", "internal/mpi/launch", "internal/mpi/pmi", "internal/mpiperf", "internal/perf", "internal/hostlist",
	"internal/keyfile", "internal/sharedkey", "internal/trace", "internal/watch", "internal/pvfs", "internal/nic", "mpi", "pvfs", "bmi", "methods", "plugins"}

// TestTextsSpellOptionsAsTheyAre: errors and other texts in the code write an option as users type it.
func TestTextsSpellOptionsAsTheyAre(t *testing.T) {
	known := knownOptions()
	checked := 0
	for _, dir := range textsIn {
		require.NoError(t, filepath.WalkDir("../../../"+dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			checked++
			for _, wrong := range wrongTexts(path, source, known) {
				assert.Fail(t, wrong)
			}
			return nil
		}))
	}
	assert.Greater(t, checked, 300)
}

// TestWrongTextsAreFound: the check finds what it is for.
func TestWrongTextsAreFound(t *testing.T) {
	known := knownOptions()
	for text, want := range map[string]string{
		`"-interval %v: want more"`:                   `x.go:2: "-interval %v: want more": -interval is written --interval`,
		`"leave out -top, or use --genv"`:             `x.go:2: "leave out -top, or use --genv": -top is written --top`,
		"`say (-log-level debug)`":                    `x.go:2: "say (-log-level debug)": -log-level is written --log-level`,
		`"--interval and -n, of host-name -5"`:        "",
		`"replay with: -run '%s' -sim.seed=%d"`:       "",
		`"go test -run Kill -timeout 1h"`:             "",
		`[]string{"rpm", "--size"}[0] + "-uz"`:        "",
		`fmt.Sprint("a") + "name-config, well-known"`: "",
	} {
		got := wrongTexts("x.go", []byte("package x\nvar x = "+text+"\n"), known)
		assert.Equal(t, want, strings.Join(got, "\n"), text)
	}
}

// knownOptions are the long options of all commands.
func knownOptions() map[string]bool {
	known := make(map[string]bool)
	for _, cmd := range commands() {
		flags(cmd, func(f *pflag.Flag) { known[f.Name] = true })
	}
	return known
}

// wrongTexts finds texts of a source file that name an option with one dash. Options of go test are others.
func wrongTexts(path string, source []byte, known map[string]bool) (wrong []string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil || strings.Contains(text, "go test") || strings.Contains(text, "-sim.seed") {
			return true
		}
		for _, m := range oneDash.FindAllStringSubmatch(text, -1) {
			if known[m[1]] {
				at := set.Position(lit.Pos())
				wrong = append(wrong, fmt.Sprintf("%s:%d: %q: -%s is written --%[4]s", at.Filename, at.Line, text, m[1]))
			}
		}
		return true
	})
	return wrong
}
