package plugins_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/plugins"
)

// TestMessages: a plugin's method works like any other.
func TestMessages(t *testing.T) {
	p := load(t, options("mem"))
	require.Equal(t, []string{far}, p.Methods())
	require.Equal(t, plugins.Running, p.State())
	require.True(t, slices.Contains(plugins.Loaded(), p))
	a, b := open(t, far), open(t, far)
	for _, size := range []int{0, 1, 8, 4 << 10, 100 << 10, 5 << 20} {
		talk(t, a, b, size)
	}
}
