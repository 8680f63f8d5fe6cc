package link

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHeaderIsReadOnce: the header of a packet is parsed in one place, and goes on
// from there as a value. The packet may lie in memory that its sender can still
// write, so a second look could see another type than the first.
func TestHeaderIsReadOnce(t *testing.T) {
	var names []string
	for _, pattern := range []string{"*.go", "../../../methods/via/*.go", "../ops/*.go", "../peers/*.go"} { // this package, and those above
		some, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, some)
		names = append(names, some...)
	}
	files := token.NewFileSet()
	var calls []token.Position
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "ParseHeader" {
				calls = append(calls, files.Position(sel.Pos()))
			}
			return true
		})
	}
	assert.Len(t, calls, 1, "places that parse the header: %v", calls)
}
