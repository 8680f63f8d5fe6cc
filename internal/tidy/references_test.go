package tidy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/references"
)

// upMax has the packages whose files are rooms, with the number of references that may point from a
// lower file to a higher one.
var upMax = map[string]int{
	"methods/via":        0,
	"internal/via/link":  0,
	"internal/via/ops":   0,
	"internal/via/peers": 0,
}

// TestReferencesPointDown: `go run ./tools/checks references ./methods/via` lists those that do not.
func TestReferencesPointDown(t *testing.T) {
	for dir, limit := range upMax {
		t.Run(dir, func(t *testing.T) {
			counted, err := references.Load(t.Context(), "../..", "./"+dir)
			require.NoError(t, err)
			require.Len(t, counted, 1)
			p := counted[0]
			require.NotZero(t, p.Total)
			if len(p.Up) > limit {
				t.Errorf("%d of %d references point up, at most %d may; the order is %v", len(p.Up), p.Total, limit, p.Files)
				for _, r := range p.Up {
					t.Error(r)
				}
			}
		})
	}
}
