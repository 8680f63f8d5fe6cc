package fstest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/fstest"
)

func TestRandomModel(t *testing.T) { fstest.Random(t, model) }

// TestRandomSeesFlaws: random operations find what is wrong, and print few of them.
func TestRandomSeesFlaws(t *testing.T) {
	for _, f := range []flaw{losesStripBorder, forgetsToReplace, everybodyReads, listsTwice, removesFull, ignoresMode} {
		t.Run(string(f), func(t *testing.T) {
			found := 0
			for seed := range uint64(100) {
				r := &recorder{name: fmt.Sprint("seed ", seed)}
				r.run(func() {
					s := &fstest.Subject{As: flawed(f), Steps: 150}
					fstest.RandomSeed(r, s, seed)
				})
				if r.failed {
					found++
					require.Len(t, r.errors, 1)
					assert.Contains(t, r.errors[0], "want ")
					break
				}
			}
			assert.Positive(t, found, "no seed finds a file system that %s", f)
		})
	}
}
