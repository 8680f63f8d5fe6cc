// Package references counts how the files of a package depend on each other.
//
// A reference is a pair of a file and a name that it uses and that another file of the same package
// defines: a constant, variable, type, function, method or field. A file can be read with only those
// below it in mind if none of its references points up. So the files are put in the order in which
// the fewest references point from a lower file to a higher one, and these are listed. tools/checks
// prints them; a test of internal/tidy has the limits.
package references

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

// A Package is the result for one package.
type Package struct {
	Path  string
	Files []string    // without tests, the highest first
	Total int         // references
	Up    []Reference // from a lower file to a higher one
}

// A Reference says that a file uses a name which another file defines.
type Reference struct{ From, To, Name string }

func (r Reference) String() string { return fmt.Sprintf("%s uses %s of %s", r.From, r.Name, r.To) }

// Load counts the references of packages. Patterns are those of the go command, relative to dir.
func Load(ctx context.Context, dir string, patterns ...string) ([]*Package, error) {
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo
	loaded, err := packages.Load(&packages.Config{Context: ctx, Mode: mode, Dir: dir}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("references: %w", err)
	}
	var counted []*Package
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("references: %s: %w", p.PkgPath, p.Errors[0])
		}
		counted = append(counted, count(p))
	}
	return counted, nil
}

// count finds the references of a package and orders its files.
func count(p *packages.Package) *Package {
	var files []string
	found := make(map[Reference]bool)
	members := memberNames(p.Types)
	fileAt := func(at token.Pos) string { return filepath.Base(p.Fset.Position(at).Filename) }
	for _, f := range p.Syntax {
		from := fileAt(f.Package)
		files = append(files, from)
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			obj := declared(p.TypesInfo.Uses[id])
			if obj == nil || obj.Pkg() != p.Types || fileAt(obj.Pos()) == from {
				return true
			}
			found[Reference{from, fileAt(obj.Pos()), cmp.Or(members[obj], obj.Name())}] = true
			return true
		})
	}
	weights := make(map[[2]string]int)
	for r := range found {
		weights[[2]string{r.From, r.To}]++
	}
	result := &Package{Path: p.PkgPath, Files: order(files, weights), Total: len(found)}
	place := func(file string) int { return slices.Index(result.Files, file) }
	for r := range found {
		if place(r.From) > place(r.To) {
			result.Up = append(result.Up, r)
		}
	}
	slices.SortFunc(result.Up, func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Name, b.Name))
	})
	return result
}

// declared is an object as its declaration has it, and not an instance of something generic.
func declared(obj types.Object) types.Object {
	switch obj := obj.(type) {
	case *types.Func:
		return obj.Origin()
	case *types.Var:
		return obj.Origin()
	}
	return obj
}

// memberNames are the names of methods and fields, with their types.
func memberNames(p *types.Package) map[types.Object]string {
	names := make(map[types.Object]string)
	for _, name := range p.Scope().Names() {
		named, ok := p.Scope().Lookup(name).Type().(*types.Named)
		if !ok || named.Obj().Pkg() != p {
			continue
		}
		for m := range named.Methods() {
			names[m] = named.Obj().Name() + "." + m.Name()
		}
		switch under := named.Underlying().(type) {
		case *types.Struct:
			for f := range under.Fields() {
				names[f] = named.Obj().Name() + "." + f.Name()
			}
		case *types.Interface:
			for m := range under.ExplicitMethods() {
				names[m] = named.Obj().Name() + "." + m.Name()
			}
		}
	}
	return names
}
