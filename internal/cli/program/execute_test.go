package program

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tool has a command put with options, and says what they were.
func tool(t *testing.T, line string) (got string, err error) {
	t.Helper()
	root := Root(&cobra.Command{Use: "tool"}, nil, nil)
	root.PersistentFlags().String("log-level", "", "")
	var quiet, all, long bool
	var output string
	put := &cobra.Command{Use: "put", Args: cobra.ArbitraryArgs, RunE: func(_ *cobra.Command, args []string) error {
		got = fmt.Sprintf("%v %v %v %s %v", quiet, all, long, output, args)
		return nil
	}}
	f := put.Flags()
	QuietFlag(f, &quiet)
	f.BoolVarP(&all, "all", "a", false, "")
	f.BoolVarP(&long, "long", "l", false, "")
	f.StringVarP(&output, "output", "o", "", "")
	f.Bool("child", false, "")
	require.NoError(t, f.MarkHidden("child"))
	root.AddCommand(put)
	err = Execute(t.Context(), root, strings.Fields(line))
	return got, err
}

// TestOneDash: a long option has two dashes. One dash is for short options, several of them, and one with its value.
func TestOneDash(t *testing.T) {
	for line, want := range map[string]string{
		"put -quiet":                   "tool put has no option -quiet: write --quiet",
		"put x -all":                   "tool put has no option -all: write --all",
		"put -output FILE":             "tool put has no option -output: write --output",
		"put -output=FILE":             "tool put has no option -output: write --output",
		"-log-level debug put":         "tool has no option -log-level: write --log-level",
		"put -log-level=debug":         "tool put has no option -log-level: write --log-level",
		"put -help":                    "tool put has no option -help: write --help",
		"-version":                     "tool has no option -version: write --version",
		"put -child":                   "tool put has no option -child",
		"put -test.v":                  "tool put has no option -test.v",
		"put -zzz":                     "tool put has no option -zzz",
		"put -qz":                      "tool put has no option -qz",
		"put --log-level --quiet -all": "tool put has no option -all: write --all",
	} {
		_, err := tool(t, line)
		assert.ErrorIs(t, err, ErrUsage, line)
		assert.EqualError(t, err, want, line)
	}
	for line, want := range map[string]string{
		"put -qa x":             "true true false  [x]",
		"put -l -q -a":          "true true true  []",
		"put -laq":              "true true true  []",
		"put -o FILE":           "false false false FILE []",
		"put -oFILE":            "false false false FILE []",
		"put -qo FILE":          "true false false FILE []",
		"put -qo -all":          "true false false -all []",
		"put -o -quiet":         "false false false -quiet []",
		"put -o=-quiet":         "false false false -quiet []",
		"put --output -quiet -": "false false false -quiet [-]",
		"put -- -quiet":         "false false false  [-quiet]",
		"--log-level put put x": "false false false  [x]",
	} {
		got, err := tool(t, line)
		assert.NoError(t, err, line)
		assert.Equal(t, want, got, line)
	}
}
