package manner

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// noTable are the commands that print no table, and what they print.
var noTable = map[string]string{
	"bmi serve": "one sentence", "bmi send": "one sentence", "bmi recv": "data", "bmi genkey": "lines for a file of keys",
	"bmi plugins run": "what the command behind it prints", "bmi version": "one line",
	"pvfs cp": "one sentence", "pvfs cat": "data", "pvfs put": "one sentence", "pvfs mkdir": "nothing", "pvfs rm": "nothing",
	"pvfs mv": "nothing", "pvfs ln": "nothing", "pvfs touch": "nothing", "pvfs truncate": "nothing", "pvfs chmod": "nothing",
	"pvfs chown": "nothing", "pvfs xattr get": "data", "pvfs xattr set": "nothing", "pvfs xattr rm": "nothing",
	"pvfs mount": "one sentence", "pvfs get-user-cert": "one sentence", "pvfs version": "one line",
	"pvfsd genconfig": "a configuration", "pvfsd check-config": "sentences about fs.conf, which is itself for programs",
	"pvfsd genkey": "sentences", "pvfsd mkfs": "one sentence", "pvfsd serve": "a log", "pvfsd version": "one line",
	"mpiexec": "what the processes print",
}

// oneObject are the commands whose --json is one object with parts, and the pages that describe it.
var oneObject = map[string]string{
	"bmi top": "watching.md", "pvfs top": "watching.md", "bmi trace join": "tracing.md", "bmi trace summary": "tracing.md",
}

// TestTablesAreAlsoJSON: each command that prints a table has --json, and docs/reference/json.md has its keys. If the page differs, a change
// breaks scripts, or needs -update and a line in CHANGELOG.md.
func TestTablesAreAlsoJSON(t *testing.T) {
	var page strings.Builder
	page.WriteString("# What commands print with --json\n\n" +
		"Each line is one object. The tables have all keys that it may have. A key that may be missing is marked. Sizes are in bytes;\n" +
		"other units are in the name of the key or in its own key (`unit`). Keys are not renamed and not removed within a major version;\n" +
		"new ones may come. This page is made from the code: `go test ./internal/cli/manner -update` writes it.\n")
	left := len(noTable) + len(oneObject)
	for _, cmd := range commands() {
		if oneObject[cmd.CommandPath()] != "" {
			left--
			assert.NotNil(t, cmd.Flags().Lookup("json"), cmd.CommandPath())
			continue
		}
		_, none := noTable[cmd.CommandPath()]
		rows := program.Schema(cmd)
		if none {
			left--
		}
		if cmd.HasSubCommands() {
			assert.Empty(t, rows, cmd.CommandPath())
			continue
		}
		assert.NotEqual(t, none, len(rows) > 0, "%s: a command has --json (program.JSONFlag), or noTable says what it prints", cmd.CommandPath())
		assert.Equal(t, len(rows) > 0, cmd.Flags().Lookup("json") != nil, cmd.CommandPath())
		for i, keys := range rows {
			title := cmd.CommandPath()
			if i > 0 {
				title += ", other lines"
			}
			fmt.Fprintf(&page, "\n## %s\n\n| key | value |\n| --- | --- |\n", title)
			for _, k := range keys {
				kind := k.Kind
				if k.Optional {
					kind += "; may be missing"
				}
				fmt.Fprintf(&page, "| `%s` | %s |\n", k.Name, kind)
				assert.Regexp(t, `^[a-z][a-z0-9_]*$`, k.Name, title)
			}
		}
	}
	assert.Zero(t, left, "noTable or oneObject has a command that does not exist")
	golden.Check(t, "../../../docs/reference/json.md", []byte(page.String()))
}

func TestHelpIsComplete(t *testing.T) {
	for _, cmd := range commands() {
		path := cmd.CommandPath()
		assert.NotEmpty(t, cmd.Short, path)
		assert.NotContains(t, cmd.Short, "\n", path)
		if cmd.Name() != "version" {
			assert.NotEmpty(t, cmd.Example, "%s has no example", path)
		}
		if cmd.HasParent() && !cmd.Parent().HasParent() && cmd.Name() != "version" {
			assert.NotEmpty(t, cmd.GroupID, "%s is in no group", path)
		}
		flags(cmd, func(f *pflag.Flag) {
			assert.NotEmpty(t, f.Usage, "%s --%s", path, f.Name)
			assert.Regexp(t, `^([a-z][a-z0-9]*(-[a-z0-9]+)*|x)$`, f.Name, path)
			assert.False(t, strings.HasSuffix(f.Usage, "."), "%s --%s: %s", path, f.Name, f.Usage)
		})
	}
}

// flags calls fn for the options of a command that its help shows.
func flags(cmd *cobra.Command, fn func(*pflag.Flag)) {
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			fn(f)
		}
	})
	cmd.InheritedFlags().VisitAll(fn)
}

// manyMeanings are options that mean different things in different commands, as users know them from other programs.
var manyMeanings = map[string]string{
	"read-only": "of a mount it is a switch, of an export a network, as in NFS",
	"mode":      "", "file": "", "output": "",
	"rate": "", "check": "",
	"all": "-a as in ls; pvfsd check has no short form, as it is not about hidden names",
	// -r of cp and rm and -R of ls, chmod and chown are those of the same commands everywhere.
	"recursive": "-r of cp and rm, -R of ls, chmod and chown",
	"size":      "-s of truncate; other commands have other meanings of -s",
	"env":       "each mention of plugins adds one, as of mpiexec",
	"help":      "",
	"trace":     "of a job it is a folder, as each process has a file",
	"top":       "of mpiexec it is a switch, of bmi trace summary a number of rows",
}

// TestOneNameForOneThing: an option has the same short form and the same type in all commands.
func TestOneNameForOneThing(t *testing.T) {
	seen := make(map[string]string)
	for _, cmd := range commands() {
		flags(cmd, func(f *pflag.Flag) {
			if _, many := manyMeanings[f.Name]; many {
				return
			}
			form := fmt.Sprintf("-%s %s", f.Shorthand, f.Value.Type())
			if before, there := seen[f.Name]; there {
				assert.Equal(t, before, form, "%s --%s", cmd.CommandPath(), f.Name)
			}
			seen[f.Name] = form
		})
	}
	for name, kind := range map[string]string{"timeout": "- time", "interval": "- time", "json": "- bool", "quiet": "-q bool", "log-level": "- string", "log-format": "- string", "sizes": ""} {
		require.Contains(t, seen, name)
		if kind != "" {
			assert.Equal(t, kind, seen[name], name)
		}
	}
}

// oneDash is a long option with one dash.
var oneDash = regexp.MustCompile(`(?:^|[\s'("` + "`" + `])-([a-z][a-z0-9-]+)`)

// TestHelpSpellsOptionsAsTheyAre: texts write an option as the list of options does.
func TestHelpSpellsOptionsAsTheyAre(t *testing.T) {
	for _, cmd := range commands() {
		text := cmd.Long + "\n" + cmd.Short + "\n" + cmd.Example + "\n" + cmd.Use
		known := make(map[string]bool)
		for _, other := range commands() {
			flags(other, func(f *pflag.Flag) { known[f.Name] = true })
		}
		flags(cmd, func(f *pflag.Flag) { text += "\n" + f.Usage })
		for _, m := range oneDash.FindAllStringSubmatch(text, -1) {
			assert.False(t, known[m[1]], "%s: -%s is written --%[2]s", cmd.CommandPath(), m[1])
		}
	}
}
