package rights

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSquashing: nobody who is squashed keeps root's ID or its group, wherever it stands among the groups.
func TestSquashing(t *testing.T) {
	nobody := Identity{65534, []uint32{65534}}
	for _, who := range people() {
		rootly := who.UID == 0 || slices.Contains(who.Groups, 0)
		for _, all := range []bool{false, true} {
			for _, root := range []bool{false, true} {
				as, squashed := Squashing{all, root, nobody}.Apply(who)
				require.Equal(t, all || root && rootly, squashed, "%+v", who)
				if squashed {
					require.Equal(t, nobody, as)
				} else {
					require.Equal(t, who, as)
				}
			}
		}
	}
}
