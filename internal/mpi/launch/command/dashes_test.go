package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWithTwoDashes(t *testing.T) {
	for in, want := range map[string]string{
		"-label -n 4":                      "--label -n 4",
		"--label -np 8 -np=8":              "--label --np 8 --np=8",
		"-host a,b -map-by=node":           "--host a,b --map-by=node",
		"-x PATH -h -l":                    "-x PATH -h -l",
		"- -5 -1KiB -n=2 -":                "- -5 -1KiB -n=2 -",
		"-label -- -label -size -- -quiet": "--label -- -label -size -- -quiet",
		"---label -=x -a-b -j2":            "---label -=x --a-b --j2",
		"":                                 "",
	} {
		assert.Equal(t, strings.Fields(want), withTwoDashes(strings.Fields(in)), in)
	}
}

func TestWithTwoDashesKeepsItsInput(t *testing.T) {
	in := []string{"-label"}
	withTwoDashes(in)
	assert.Equal(t, []string{"-label"}, in)
}

func FuzzWithTwoDashes(f *testing.F) {
	f.Add("-label -- -size")
	f.Fuzz(func(t *testing.T, line string) {
		in := strings.Split(line, " ")
		out := withTwoDashes(in)
		require.Len(t, out, len(in))
		require.Equal(t, out, withTwoDashes(out), "twice changes nothing more")
	})
}
