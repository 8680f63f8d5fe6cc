package term

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProgramsDoNotLinkTheTerminal: users' programs and servers carry none of the libraries that draw; commands do.
func TestProgramsDoNotLinkTheTerminal(t *testing.T) {
	const module = "github.com/viaduct-hpc/viaduct/"
	deps := func(packages ...string) string {
		for i := range packages {
			packages[i] = module + packages[i]
		}
		out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
		require.NoError(t, err)
		return string(out)
	}
	const library = "charm.land/bubbletea"
	libraries := deps("mpi", "mpi/file", "mpi/checkpoint", "bmi", "methods/tcp", "methods/via", "plugins", "pvfs/client", "internal/pvfs/server", "cmd/pvfsd", "internal/watch/table")
	assert.NotContains(t, libraries, library)
	assert.NotContains(t, libraries, "charmbracelet")
	assert.True(t, strings.Contains(deps("cmd/bmi"), library), "the test finds what it looks for")
}
