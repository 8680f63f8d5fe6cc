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
	"matchbits", "peer", "internal/via/wire", "internal/via/bulk", "internal/via/flow", "internal/nic/udp/wire", "internal/nic/udp/reliable",
	"internal/inbox", "internal/pieces", "internal/timers", "internal/mpi/core/wire", "mpi/rma/internal/wire", "mpi/rma/internal/epoch", "mpi/errclass",
	"internal/mpi/launch/hosts", "internal/mpi/launch/tree", "internal/mpi/launch/tree/wire",
	"mpi/internal/file/ranges", "mpi/internal/file/view", "mpi/internal/file/sieve", "mpi/internal/file/twophase", "mpi/checkpoint/internal/manifest", "mpi/checkpoint/internal/sums", "pvfs/config", "internal/pvfs/stripe", "internal/pvfs/datatype", "internal/pvfs/rights",
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
