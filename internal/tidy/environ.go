package tidy

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// environPackage reads the environment for all others.
const environPackage = "internal/environ"

// mayReadAll are files that read variables whose names users give them, or only those of others.
var mayReadAll = map[string]string{
	"plugins/options.go": "variables that users pass on to plugins",
}

// ownName is the name of an environment variable of this project.
var ownName = regexp.MustCompile(`^(?:VIADUCT|BMI|PVFS|PVFS2|PVFS2TAB|PVFS2KEY|PVFS2CERT|MPI|PMI)_[A-Z0-9_]+$`)

// alwaysVariable is a name that cannot be anything else.
var alwaysVariable = regexp.MustCompile(`^(?:VIADUCT|BMI|PVFS2TAB|PVFS2KEY|PVFS2CERT)_[A-Z0-9_]+$`)

// environment: code reads its own environment variables through package environ, and all of them are in its table. Folders with a
// module of their own, tools, benchmarks and examples are left out, as users do not set what they read.
func environment(t *Tree) (problems []Problem) {
	for _, p := range t.Packages {
		if p.Dir == environPackage || covers("tools/...", p.Dir) || covers("bench/...", p.Dir) || covers("examples/...", p.Dir) {
			continue
		}
		names := constants(p)
		for _, f := range p.Files {
			if f.Test || f.Generated || mayReadAll[f.Path] != "" {
				continue
			}
			ast.Inspect(f.AST, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if what := environmentCall(n, names); what != "" {
						problems = append(problems, t.problem(f, n.Pos(), "%s", what))
					}
				case *ast.BasicLit:
					if name, ok := text(n); ok && alwaysVariable.MatchString(name) && !listed(name) {
						problems = append(problems, t.problem(f, n.Pos(), "the environment variable %s is not in the table of package environ", name))
					}
				}
				return true
			})
		}
	}
	return problems
}

// environmentCall says what is wrong with a call; "" if nothing is.
func environmentCall(call *ast.CallExpr, names map[string]string) string {
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 || fn.Sel.Name != "Getenv" && fn.Sel.Name != "LookupEnv" {
		return ""
	}
	from, ok := fn.X.(*ast.Ident)
	if !ok {
		return ""
	}
	name, known := nameOf(call.Args[0], names)
	switch {
	case from.Name == "os" && !known:
		return "os." + fn.Sel.Name + " of a name that is no constant: package environ reads variables of this project"
	case from.Name == "os" && ownName.MatchString(name):
		return "os." + fn.Sel.Name + " of " + name + ": read it by package environ"
	case from.Name == "environ" && known && !listed(name):
		return "the environment variable " + name + " is not in the table of package environ"
	}
	return ""
}

func listed(name string) bool {
	_, ok := environ.Find(name)
	return ok
}

// constants are the texts of the constants and variables at the top of a package.
func constants(p *Package) map[string]string {
	all := make(map[string]string)
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for i, id := range v.Names {
					if i < len(v.Values) {
						if value, ok := text(v.Values[i]); ok {
							all[id.Name] = value
						}
					}
				}
			}
		}
	}
	return all
}

// nameOf is the text of an expression, if it is one or a constant of this package.
func nameOf(e ast.Expr, names map[string]string) (string, bool) {
	if id, ok := e.(*ast.Ident); ok {
		name, ok := names[id.Name]
		return name, ok
	}
	return text(e)
}

func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}
