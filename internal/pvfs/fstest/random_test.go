package fstest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/internal/verdict"
)

func TestRandomModel(t *testing.T) { fstest.Random(t, model) }

// TestRandomSeesFlaws: random operations detect flaws, and print short sequences.
func TestRandomSeesFlaws(t *testing.T) {
	for _, f := range []flaw{losesStripBorder, forgetsToReplace, everybodyReads, listsTwice, removesFull, ignoresMode} {
		t.Run(string(f), func(t *testing.T) {
			found := 0
			for seed := range uint64(100) {
				v := verdict.Run(fmt.Sprint("seed ", seed), func(t *verdict.T) {
					fstest.RandomSeed(t, &fstest.Subject{As: flawed(f), Steps: 150}, seed)
				})
				if v.Failed() {
					found++
					require.Len(t, v.Errors(), 1)
					assert.Contains(t, v.Errors()[0], "want ")
					break
				}
			}
			assert.Positive(t, found, "no seed finds a file system that %s", f)
		})
	}
}
