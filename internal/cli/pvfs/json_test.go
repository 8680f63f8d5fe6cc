package pvfs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/manner"
)

// TestJSON: what commands print with --json has the declared keys.
func TestJSON(t *testing.T) {
	s := newShell(t)
	s.ok("mkdir /d")
	s.ok("touch /d/file")
	s.ok("ln -s file /d/link")
	s.ok("xattr set user.a b /d/file")
	for path, line := range map[string]string{
		"ls": "ls --recursive --json /", "stat": "stat --json / /d/file /d/link", "df": "df --json", "ping": "ping --count 2 --interval 0 --json",
		"xattr list": "xattr list --values --json /d/file", "bench": "bench --size 64KiB --files 2 --jobs 2 --json /",
	} {
		require.NoError(t, manner.CheckJSON(Command(), path, s.ok(line)), line)
	}
	require.NoError(t, manner.CheckJSON(Command(), "xattr list", s.ok("xattr list --json /d/file")))
	require.Error(t, manner.CheckJSON(Command(), "df", s.ok("df")), "it is a table without --json")
}
