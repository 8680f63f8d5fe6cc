package pvfs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/sayonce"
)

// TestMessages: what users get for the usual mistakes says once what happened, with what, and what to do.
func TestMessages(t *testing.T) {
	s := newShell(t)
	for line, c := range map[string]struct {
		code int
		says string
	}{
		"ls /nothing":                   {ExitFailed, `pvfs: /nothing: no such file or directory: / is there, but has no "nothing"`},
		"cp /no/local :/x":              {ExitFailed, "pvfs: stat /no/local: no such file or directory"},
		"ls mem://nobody/pvfs2-fs/":     {ExitNobody, "pvfs: cannot mount mem://nobody/pvfs2-fs: nobody answers at mem://nobody, check the address and that the other side runs"},
		"--fs mem://nobody ls /":        {ExitUsage, `pvfs: cannot mount mem://nobody: bad source: "mem://nobody" has no name of a file system behind the address, as in mem://nobody/pvfs2-fs`},
		"--fs tpc://here/pvfs2-fs ls /": {ExitUsage, `pvfs: cannot mount tpc://here/pvfs2-fs: unknown method "tpc": this program carries`},
		"--key-file /no/key ls /":       {ExitUsage, "pvfs: open /no/key: no such file or directory"},
		"ls -lng /":                     {ExitUsage, "pvfs: pvfs ls has no option -lng; did you mean --long?"},
		"--fs " + strings.TrimSuffix(s.source, "/pvfs2-fs") + "/wrong ls /": {ExitFailed, "has the file system pvfs2-fs, not wrong\n"},
		"lss /":                 {ExitUsage, `pvfs: unknown command "lss"; did you mean ln or ls?`},
		"truncate --size 3x /f": {ExitUsage, `pvfs: --size 3x: bad size "3x": want a whole number and perhaps KiB, MiB, GiB and so on to EiB`},
	} {
		said := s.no(c.code, line)
		assert.Contains(t, said, c.says, line)
		assert.Empty(t, sayonce.Repeats(said), said)
	}
}
