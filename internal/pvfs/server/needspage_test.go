package server

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

const needsMark = "## What each request needs\n"

// TestNeedsPage: docs/reference/security-pvfs.md says what each request needs, as the server's table has it.
func TestNeedsPage(t *testing.T) {
	const page = "../../../docs/reference/security-pvfs.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), needsMark)
	require.True(t, ok, "%s has no line %q", page, needsMark)
	about, _, _ := strings.Cut(rest, "| request |")
	var b strings.Builder
	b.WriteString(before + needsMark + about)
	b.WriteString("| request | from | object | needs |\n| --- | --- | --- | --- |\n")
	for code, op := range table {
		if op == nil {
			continue
		}
		name, from := proto.Op(code).String(), op.from.String()
		if len(op.needs) == 0 {
			fmt.Fprintf(&b, "| %s | %s | | |\n", name, from)
		}
		for _, n := range op.needs {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, from, n.object, n.rights)
			name, from = "", ""
		}
	}
	golden.Check(t, page, []byte(b.String()))
}
