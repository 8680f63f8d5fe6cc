package rights

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRootly: root's group counts wherever it stands among the groups.
func TestRootly(t *testing.T) {
	for _, who := range people() {
		require.Equal(t, who.UID == 0 || slices.Contains(who.Groups, 0), who.Rootly(), "%+v", who)
	}
}
