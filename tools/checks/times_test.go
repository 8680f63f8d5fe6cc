package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTimesSayWhatIsInAFile(t *testing.T) {
	tree := func(content string) (times []time.Time) {
		root := t.TempDir()
		folder := filepath.Join(root, "a", "testdata", "fuzz")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		file, source := filepath.Join(folder, "1"), filepath.Join(root, "a", "a.go")
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		require.NoError(t, os.WriteFile(source, []byte(content), 0o600))
		require.NoError(t, os.Symlink("/no/such/file", filepath.Join(folder, "2")))
		before, err := os.Stat(source)
		require.NoError(t, err)
		require.NoError(t, setTimes(root))
		for _, path := range []string{filepath.Dir(folder), folder, file} {
			info, err := os.Stat(path)
			require.NoError(t, err)
			times = append(times, info.ModTime())
		}
		after, err := os.Stat(source)
		require.NoError(t, err)
		assert.Equal(t, before.ModTime(), after.ModTime(), "a source keeps its own time")
		return times
	}
	first, second, other := tree("1"), tree("1"), tree("2")
	assert.Equal(t, first, second)
	assert.Equal(t, first[:2], other[:2], "the time of a folder does not say what is in it")
	assert.NotEqual(t, first[2], other[2], "the time of a file does")
}
