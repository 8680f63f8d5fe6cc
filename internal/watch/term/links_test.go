package term

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// TestProgramsDoNotLinkTheTerminal: users' programs and servers carry none of the libraries that draw; commands do.
func TestProgramsDoNotLinkTheTerminal(t *testing.T) {
	deps := func(packages ...string) string {
		args := []string{"list", "-deps"}
		for _, p := range packages {
			args = append(args, "../../../"+p)
		}
		out, err := programs.Go(packages, args...)
		require.NoError(t, err)
		return out
	}
	const library = "charm.land/bubbletea"
	libraries := deps("mpi", "mpi/file", "mpi/checkpoint", "bmi", "methods/tcp", "methods/via", "plugins", "pvfs/client", "internal/pvfs/server", "cmd/pvfsd", "internal/watch/table")
	assert.NotContains(t, libraries, library)
	assert.NotContains(t, libraries, "charmbracelet")
	assert.True(t, strings.Contains(deps("cmd/bmi"), library), "the test finds what it looks for")
}
