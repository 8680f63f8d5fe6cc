package tidy

import (
	"slices"
	"strings"
)

// Published are the packages that programs outside this module may import. All other packages are programs,
// tests, examples, or below a folder internal. Adding one here is a promise to keep it.
var Published = []string{
	"bmi", "bmi/about", "bmi/bmitest", "bmi/files", "bmi/netstats",
	"methods/methodtest", "methods/tcp", "methods/via", "methods/via/nic", "methods/via/vipl", "methods/via/vipl/vipltest",
	"matchbits", "peer",
	"mpi", "mpi/attr", "mpi/boot", "mpi/checkpoint", "mpi/coll", "mpi/datatype", "mpi/errclass", "mpi/file", "mpi/group", "mpi/info",
	"mpi/mem", "mpi/mpitest", "mpi/number", "mpi/object", "mpi/reduce", "mpi/rma", "mpi/tool", "mpi/topo",
	"plugins", "plugins/proto",
	"pvfs/client", "pvfs/config", "pvfs/credential", "pvfs/proto", "pvfs/usercert",
	"watch",
}

// copied are folders that readers of the guides copy into modules of their own, tests included.
var copied = []string{"examples/plugin-go"}

// wall: a package that others could import is one that is meant for them, and what they copy needs no other.
func wall(t *Tree) (problems []Problem) {
	for _, p := range t.Packages {
		if !slices.Contains(copied, p.Dir) {
			continue
		}
		for _, f := range p.Files {
			for _, spec := range f.AST.Imports {
				if dir, ours := strings.CutPrefix(imported(spec), t.Module+"/"); ours && !slices.Contains(Published, dir) {
					problems = append(problems, t.problem(f, spec.Pos(), "readers copy this file, and %s is not published", dir))
				}
			}
		}
	}
	found := make(map[string]bool)
	for _, p := range t.Packages {
		if !p.importable() || t.inModule(p) {
			continue
		}
		found[p.Dir] = true
		if !slices.Contains(Published, p.Dir) {
			problems = append(problems, Problem{Path: p.Dir, What: "programs outside could import it: move it below internal, or add it to Published in internal/tidy"})
		}
	}
	for _, dir := range Published {
		if !found[dir] {
			problems = append(problems, Problem{Path: dir, What: "it is published and does not exist"})
		}
	}
	return problems
}

// importable reports whether programs outside the module could import a package: it is no program and no example, has more
// than tests and a comment, and is not below a folder internal.
func (p *Package) importable() bool {
	if folders := strings.Split(p.Dir, "/"); folders[0] == "examples" || slices.Contains(folders, "internal") {
		return false
	}
	return slices.ContainsFunc(p.Files, func(f *File) bool { return !f.Test && f.AST.Name.Name != "main" && len(f.AST.Decls) > 0 })
}
