package tidy

import (
	"go/ast"
	"path"
	"strings"
)

// A layer says what the packages it covers may import of this module. A
// pattern is a folder, a folder and everything below it ("bmi/..."), or one
// file that may more than the rest of its package. An import that starts with "_ " may only be blank: it links a method in without
// anybody knowing its name.
type layer struct {
	covers string
	may    []string
}

// layerTable is the picture in docs/architecture.md as data. The first layer
// that covers a package decides. A package that none covers is a problem: add
// it to the picture first. Tests may import what they need.
var layerTable = []layer{
	// Pure state: nothing of ours.
	{"matchbits", nil},
	{"peer", nil},
	{"peer/...", []string{"peer"}},

	// The promise. Its test doubles see nothing else.
	{"bmi", nil},
	{"bmi/...", []string{"bmi"}},

	// The VIA method, top to bottom.
	{"methods/methodtest/...", []string{"bmi", "internal/sim"}},
	// Descriptors, capabilities and errors cross vipl as the seam defines them,
	// so the method sees package nic; which NICs there are, one file knows.
	{"methods/via/register.go", []string{"bmi", "methods/via/nic/..."}},
	{"methods/via", []string{"bmi", "matchbits", "peer", "methods/via/vipl", "methods/via/wire", "methods/via/nic"}},
	{"methods/via/wire", []string{"matchbits"}},
	{"methods/via/vipl/vipltest", []string{"methods/via/vipl", "methods/via/nic", "internal/sim"}},
	{"methods/via/vipl/...", []string{"methods/via/vipl/...", "methods/via/nic"}},
	{"methods/via/nic", nil},
	{"methods/via/nic/sim", []string{"methods/via/nic", "internal/sim"}},
	{"methods/via/nic/...", []string{"methods/via/nic"}},

	// Other methods never see each other.
	{"methods/tcp/...", []string{"bmi", "matchbits", "peer", "methods/tcp/..."}},
	{"plugins/...", []string{"bmi", "plugins/..."}},

	// What sits on bmi knows no method.
	{"mpi/...", []string{"bmi", "matchbits", "mpi/..."}},
	{"pvfs/...", []string{"bmi", "pvfs/..."}},

	// Helpers.
	{"internal/sim", nil},
	{"internal/golden", nil},
	{"internal/tidy", nil},
	{"internal/perf/...", []string{"bmi", "internal/perf/..."}},
	{"internal/cli/...", []string{"bmi", "internal/cli/...", "internal/perf/..."}},

	// Programs choose what they carry.
	{"cmd/...", []string{"bmi", "mpi/...", "pvfs/...", "plugins/...", "internal/cli/...", "internal/perf/...", "_ methods/..."}},
	{"bench/...", []string{"bmi", "bench/...", "internal/perf/...", "_ methods/..."}},
	{"examples/...", []string{"bmi", "_ methods/..."}},
	{"tools/...", nil},
}

func layers(t *Tree) (problems []Problem) {
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			l := layerOf(f)
			if l == nil {
				problems = append(problems, t.problem(f, f.AST.Package,
					"package is in no layer: decide what it may import and add it to the table in internal/tidy"))
				continue
			}
			for _, spec := range f.AST.Imports {
				ours, ok := strings.CutPrefix(imported(spec), t.Module+"/")
				if ok && !l.allows(ours, spec) {
					problems = append(problems, t.problem(f, spec.Pos(), "%s may not import %s", p.Dir, ours))
				}
			}
		}
	}
	return problems
}

func layerOf(f *File) *layer {
	for i := range layerTable {
		if pattern := layerTable[i].covers; pattern == f.Path || covers(pattern, path.Dir(f.Path)) {
			return &layerTable[i]
		}
	}
	return nil
}

func (l *layer) allows(dir string, spec *ast.ImportSpec) bool {
	blank := spec.Name != nil && spec.Name.Name == "_"
	for _, may := range l.may {
		may, onlyBlank := strings.CutPrefix(may, "_ ")
		if covers(may, dir) && (blank || !onlyBlank) {
			return true
		}
	}
	return false
}

// covers reports whether a pattern of the table covers a folder.
func covers(pattern, dir string) bool {
	tree, all := strings.CutSuffix(pattern, "/...")
	return dir == tree || all && strings.HasPrefix(dir, tree+"/")
}
