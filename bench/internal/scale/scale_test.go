package scale

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/collsim"
)

// TestRows: every operation can be simulated on one host or several, and makes one row.
func TestRows(t *testing.T) {
	for _, o := range operations {
		for _, p := range []int{64, 96} {
			for _, known := range []bool{false, true} {
				r, err := collsim.Run(network, o.job(p, known))
				require.NoError(t, err, o.name)
				assert.Positive(t, r.Between, o.name)
			}
			var b strings.Builder
			require.NoError(t, row(&b, o, p))
			assert.Equal(t, 9, strings.Count(b.String(), "|"), b.String())
		}
	}
}

// TestReplace: the section replaces itself, wherever it is.
func TestReplace(t *testing.T) {
	const first, second = heading + "\n\none\n", heading + "\n\ntwo\n"
	text := Replace("# Results\n\n## Counts\n\n- 1\n", first)
	assert.Equal(t, "# Results\n\n"+first+"\n## Counts\n\n- 1\n", text)
	assert.Equal(t, "# Results\n\n"+second+"\n## Counts\n\n- 1\n", Replace(text, second))
	assert.Equal(t, "# Results\n\n"+first, Replace("# Results\n", first))
	assert.Equal(t, "# Results\n\n"+second, Replace("# Results\n\n"+first, second))
}
