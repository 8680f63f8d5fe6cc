package fstest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/internal/race"
)

func model(fstest.T) *fstest.Subject {
	return &fstest.Subject{As: fstest.NewModel().As}
}

// TestModelPasses: the oracle passes all cases.
func TestModelPasses(t *testing.T) {
	cases := fstest.All
	if race.Enabled {
		cases = cases.Share(1, 3)
	}
	fstest.RunCases(t, cases, model)
}

func TestNamesAreUnique(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range fstest.All {
		assert.False(t, seen[c.Name], "%s is there twice", c.Name)
		seen[c.Name] = true
		assert.NotContains(t, c.Name, "/", "names can be given to -run")
	}
	require.Greater(t, len(seen), 500)
}

func TestSharesAreAll(t *testing.T) {
	n := 0
	for turn := range 7 {
		n += len(fstest.All.Share(turn, 7))
	}
	assert.Len(t, fstest.All, n)
	assert.NotEmpty(t, fstest.All.Matching("Rename"))
}
