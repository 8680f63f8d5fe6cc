package sim

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// set gives a flag a value for the time of a test.
func set[T any](t *testing.T, flag *T, value T) {
	was := *flag
	*flag = value
	t.Cleanup(func() { *flag = was })
}

func TestSeeds(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	set(t, flagSeeds, 3)
	set(t, flagBase, 0)
	set(t, flagSeed, 0)
	assert.Equal(t, []uint64{1, 2, 3}, Seeds(t))
	assert.Equal(t, []uint64{1, 2}, SeedsAtMost(t, 2))

	require.NoError(t, os.Mkdir("testdata", 0o755))
	text := "# Seeds that found something.\n\nTestSeeds 4711 a lost packet\nTestOther 9 another\nTestSeeds 12 a second\n"
	require.NoError(t, os.WriteFile("testdata/seeds.txt", []byte(text), 0o644))
	assert.Equal(t, []uint64{1, 2, 3, 4711, 12}, Seeds(t))
	assert.Equal(t, []uint64{1, 4711, 12}, SeedsAtMost(t, 1), "what found something always runs")

	set(t, flagBase, 100)
	assert.Equal(t, []uint64{101, 102, 103}, Seeds(t), "fresh ones")
	assert.Equal(t, []uint64{101}, SeedsAtMost(t, 1))
	set(t, flagSeed, 5)
	assert.Equal(t, []uint64{5}, Seeds(t), "a replay")
}

func TestBadRegressions(t *testing.T) {
	for line, want := range map[string]string{
		"TestX 1":         "seeds.txt:1: a line has a test, a seed, and what the seed found",
		"TestX one found": `seeds.txt:1: "one" is no seed`,
		"TestX 0 found":   `seeds.txt:1: "0" is no seed`,
	} {
		file := filepath.Join(t.TempDir(), "seeds.txt")
		require.NoError(t, os.WriteFile(file, []byte(line+"\n"), 0o644))
		_, err := regressions(file, "TestX")
		require.ErrorContains(t, err, want)
	}
}
