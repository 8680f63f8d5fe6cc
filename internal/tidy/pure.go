package tidy

import (
	"go/ast"
	"slices"
	"strings"
)

// purePackages contain state and arithmetic only: no I/O, no clock, no goroutine,
// no lock. Time and randomness come in as arguments, so that every test of them
// is deterministic.
var purePackages = []string{
	"matchbits", "peer", "methods/via/wire", "methods/via/bulk", "methods/via/flow", "methods/via/nic/udp/wire", "methods/via/nic/udp/reliable",
	"methods/inbox", "internal/pieces", "internal/timers", "mpi/core/wire", "mpi/rma/wire", "mpi/rma/epoch", "mpi/errclass",
	"mpi/launch/hosts", "mpi/launch/tree", "mpi/launch/tree/wire",
	"mpi/file/internal/ranges", "mpi/file/internal/view", "mpi/file/internal/sieve", "mpi/file/internal/twophase", "mpi/checkpoint/internal/manifest", "mpi/checkpoint/internal/sums", "pvfs/config", "pvfs/stripe", "pvfs/datatype",
}

// pureImports are the only packages outside this module that they may import.
// Before adding one here, make sure that it has neither state of its own nor side
// effects.
var pureImports = []string{
	"bytes", "cmp", "container/heap", "encoding/binary", "errors", "fmt", "hash/crc32", "iter", "maps", "math", "math/bits",
	"net/netip", "path", "slices", "sort", "strconv", "strings", "time", "unicode/utf8",
}

// timeTypes are the names of package time that they may use: durations, no clock.
var timeTypes = []string{"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"}

func pure(t *Tree) (problems []Problem) {
	for _, p := range t.Packages {
		if !slices.Contains(purePackages, p.Dir) {
			continue
		}
		for _, f := range p.Files {
			if !f.Test {
				problems = append(problems, t.impureImports(p, f)...)
				problems = append(problems, t.impureCode(p, f)...)
			}
		}
	}
	return problems
}

func (t *Tree) impureImports(p *Package, f *File) (problems []Problem) {
	for _, spec := range f.AST.Imports {
		name := imported(spec)
		// Imports from this module are checked by layers.
		if !strings.HasPrefix(name, t.Module+"/") && !slices.Contains(pureImports, name) {
			problems = append(problems, t.problem(f, spec.Pos(), "%s is pure and may not import %s", p.Dir, name))
		}
	}
	return problems
}

func (t *Tree) impureCode(p *Package, f *File) (problems []Problem) {
	clock := importedAs(f.AST, "time", "time")
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			problems = append(problems, t.problem(f, n.Pos(), "%s is pure and may not start a goroutine", p.Dir))
		case *ast.ChanType:
			problems = append(problems, t.problem(f, n.Pos(), "%s is pure and may not use a channel", p.Dir))
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && clock != "" && x.Name == clock && !slices.Contains(timeTypes, n.Sel.Name) {
				problems = append(problems, t.problem(f, n.Pos(), "%s is pure and may not use time.%s", p.Dir, n.Sel.Name))
			}
		}
		return true
	})
	return problems
}
