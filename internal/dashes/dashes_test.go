package dashes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"perf via+shm -json":                   "perf via+shm --json",
		"perf --json -size 8 -size=8,1KiB":     "perf --json --size 8 --size=8,1KiB",
		"perf -test latency,rate -window=1":    "perf --test latency,rate --window=1",
		"recv -o FILE -h -q":                   "recv -o FILE -h -q",
		"send - -5 -1KiB -o=x -":               "send - -5 -1KiB -o=x -",
		"send -quiet -- -json -size -- -quiet": "send --quiet -- -json -size -- -quiet",
		"---json -=x -a-b -j2":                 "---json -=x --a-b --j2",
		"":                                     "",
	} {
		assert.Equal(t, strings.Fields(want), Normalize(strings.Fields(in)), in)
	}
}

func TestNormalizeKeepsItsInput(t *testing.T) {
	in := []string{"-json"}
	Normalize(in)
	assert.Equal(t, []string{"-json"}, in)
}

func FuzzNormalize(f *testing.F) {
	f.Add("perf -json -- -size")
	f.Fuzz(func(t *testing.T, line string) {
		in := strings.Split(line, " ")
		out := Normalize(in)
		require.Len(t, out, len(in))
		require.Equal(t, out, Normalize(out), "normalising twice changes nothing more")
	})
}
