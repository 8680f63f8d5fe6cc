package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// fileLinesMax is the length from which a file probably has more than one job.
const fileLinesMax = 600

// packageComment: every package has a package comment.
func packageComment(t *Tree) (problems []Problem) {
	for _, p := range t.Packages {
		code := slices.DeleteFunc(slices.Clone(p.Files), func(f *File) bool { return f.Test })
		described := slices.ContainsFunc(code, func(f *File) bool {
			return f.AST.Doc != nil && strings.TrimSpace(f.AST.Doc.Text()) != ""
		})
		if len(code) > 0 && !described {
			problems = append(problems, Problem{Path: p.Dir, What: "no file has a package comment"})
		}
	}
	return problems
}

// fileLength: no hand-written Go file is over fileLinesMax lines.
func fileLength(t *Tree) (problems []Problem) {
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if n := f.lines(); n > fileLinesMax && !f.Generated {
				problems = append(problems, Problem{Path: f.Path, What: fmt.Sprintf(
					"%d lines, over %d: look for the concept that wants a file of its own", n, fileLinesMax)})
			}
		}
	}
	return problems
}

// unfinished are the marks of unfinished work. They are assembled here so that this
// file does not contain them itself.
var unfinished = []string{"TO" + "DO", "FIX" + "ME", "XX" + "X"}

// marks: no comment announces later work; remaining work belongs into an issue.
func marks(t *Tree) (problems []Problem) {
	for _, text := range t.Texts {
		for i, line := range bytes.Split(text.Content, []byte("\n")) {
			for _, mark := range unfinished {
				if hasWord(line, mark) {
					problems = append(problems, Problem{Path: text.Path, Line: i + 1, What: "left-over mark " + mark})
				}
			}
		}
	}
	return problems
}

// hasWord reports whether line has the word with no letter or digit beside it
// (mktemp's run of that letter is not a mark).
func hasWord(line []byte, word string) bool {
	for {
		i := bytes.Index(line, []byte(word))
		if i < 0 {
			return false
		}
		end := i + len(word)
		if (i == 0 || !wordByte(line[i-1])) && (end == len(line) || !wordByte(line[end])) {
			return true
		}
		line = line[end:]
	}
}

func wordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// ownGenerator are the allowed names of math/rand/v2: those that make, or name, a
// separate generator.
var ownGenerator = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}

// randomness: no code, tests included, uses a generator that cannot be seeded,
// because a failure must be repeatable. Tests take their seeds from internal/sim.
func randomness(t *Tree) (problems []Problem) {
	for _, p := range t.Packages {
		for _, f := range p.Files {
			for _, spec := range f.AST.Imports {
				if imported(spec) == "math/rand" {
					problems = append(problems, t.problem(f, spec.Pos(), "use math/rand/v2 with a generator and seed of your own"))
				}
			}
			name := importedAs(f.AST, "math/rand/v2", "rand")
			if name == "" {
				continue
			}
			ast.Inspect(f.AST, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				// An identifier with an object is a local variable of that name.
				x, ok := sel.X.(*ast.Ident)
				if ok && x.Name == name && x.Obj == nil && !slices.Contains(ownGenerator, sel.Sel.Name) {
					problems = append(problems, t.problem(f, sel.Pos(),
						"rand.%s draws from the global generator, which nobody can seed", sel.Sel.Name))
				}
				return true
			})
		}
	}
	return problems
}
