package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/tiers"
)

// concurrent are the imports of packages in which the race detector may find something.
var concurrent = []string{"sync", "sync/atomic", "go.uber.org/atomic"}

// tested: the table of docs/internals/testing.md has exactly one row for each package with tests, and each row matches
// its package. Modules within the module run their tests themselves.
func tested(t *Tree) (problems []Problem) {
	var rows []tiers.Row
	for _, text := range t.Texts {
		if text.Path == tiers.Page {
			var err error
			if rows, err = tiers.Parse(text.Content); err != nil {
				return []Problem{{Path: tiers.Page, What: err.Error()}}
			}
		}
	}
	byPackage := make(map[string]tiers.Row)
	for _, row := range rows {
		say := func(format string, args ...any) {
			problems = append(problems, Problem{Path: tiers.Page, Line: row.Line, What: row.Package + ": " + fmt.Sprintf(format, args...)})
		}
		if _, twice := byPackage[row.Package]; twice {
			say("it has two rows")
		}
		byPackage[row.Package] = row
		i := slices.IndexFunc(t.Packages, func(p *Package) bool { return p.Dir == row.Package && p.tests() })
		if i < 0 {
			say("there is no such package with tests")
			continue
		}
		t.Packages[i].fits(row, say)
	}
	for _, p := range t.Packages {
		if _, ok := byPackage[p.Dir]; p.tests() && !ok && !t.inModule(p) {
			problems = append(problems, Problem{Path: p.Dir, What: "it has tests and no row in " + tiers.Page})
		}
	}
	return problems
}

// inModule reports whether a package belongs to a module within the module.
func (t *Tree) inModule(p *Package) bool {
	return slices.ContainsFunc(t.Modules, func(dir string) bool { return p.Dir == dir || strings.HasPrefix(p.Dir, dir+"/") })
}

// tests reports whether a package has tests.
func (p *Package) tests() bool {
	return slices.ContainsFunc(p.Files, func(f *File) bool { return f.Test })
}

// fits reports where a row and its package disagree.
func (p *Package) fits(row tiers.Row, say func(format string, args ...any)) {
	goroutines, fuzz, seeds, stock := p.usesGoroutines(), false, false, false
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			fuzz = fuzz || ok && f.Test && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz")
		}
		seeds = seeds || f.Test && runsSeeds(f)
		stock = stock || f.Test && speaksOfOrangeFS(f)
	}
	switch {
	case row.Why != "":
	case goroutines && !row.Race:
		say("it has goroutines or locks: test it with the race detector, or say why not")
	case !goroutines && row.Race:
		say("it has neither goroutines nor locks: test it without the race detector, or say why")
	}
	if fuzz != row.Has(tiers.Fuzz) {
		say("the row says fuzz = %v, the package has targets = %v", row.Has(tiers.Fuzz), fuzz)
	}
	if stock != row.Has(tiers.OrangeFS) {
		say("the row says orangefs = %v, tests need stock OrangeFS = %v", row.Has(tiers.OrangeFS), stock)
	}
	if seeds && !row.Has(tiers.Seeds) && row.Why == "" {
		say("its tests run seeds: the soak tier draws fresh ones, or say why not")
	}
}

// usesGoroutines reports whether a package, or its tests, start goroutines or use locks.
func (p *Package) usesGoroutines() bool {
	for _, f := range p.Files {
		for _, spec := range f.AST.Imports {
			if slices.Contains(concurrent, imported(spec)) {
				return true
			}
		}
		var found bool
		ast.Inspect(f.AST, func(n ast.Node) bool {
			_, starts := n.(*ast.GoStmt)
			found = found || starts
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// speaksOfOrangeFS reports whether a file looks for an installation of stock OrangeFS, or uses a helper that
// does.
func speaksOfOrangeFS(f *File) bool {
	return bytes.Contains(f.Content, []byte("ORANGEFS"+"_PREFIX")) || bytes.Contains(f.Content, []byte("/stock\""))
}

// runsSeeds reports whether a file calls a function of internal/sim that runs seeds.
func runsSeeds(f *File) (found bool) {
	ast.Inspect(f.AST, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		found = found || ok && x.Name == "sim" && slices.Contains([]string{"Run", "RunAtMost", "Seed", "Seeds", "SeedsAtMost"}, sel.Sel.Name)
		return !found
	})
	return found
}
