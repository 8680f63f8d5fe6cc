// Package tidy has the project rules that a program can check: which layer may import which
// (layers.go), which packages programs outside may import (published.go), which are pure (pure.go), that mentioned documents exist (links.go), and so
// do the tests and packages in command lines (commands.go), that tables are complete (tables.go) and decisions short (decisions.go),
// that the page on testing and the packages agree (tested.go), that no test fails because something
// was slow (clock.go), that environment variables are in one table (environ.go), that tests say what they need of the machine before they start anything (needs.go), and small rules, for
// example that every package has a comment (small.go).
// Its test applies them to the whole repository; no shipped code imports it.
//
// Every rule has a folder under testdata/bad with a small tree that breaks it, so that a rule that
// no longer finds anything is noticed. Formatting and vetting are not here: gofmt, go vet and
// staticcheck do that (make lint).
package tidy

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Tree is a parsed module.
type Tree struct {
	Module   string // the module path, for instance example.org/m
	Packages []*Package
	Texts    []*Text
	Modules  []string // folders inside that are modules of their own
	root     string
	fset     *token.FileSet
}

// A Package is one folder with Go files, tests included.
type Package struct {
	Dir   string // relative to the root, with slashes; "." is the root
	Files []*File
}

// A File is one Go file.
type File struct {
	*Text
	Test      bool // name ends in _test.go
	Generated bool // carries the usual mark
	AST       *ast.File
}

// A Text is a hand-written file in any language.
type Text struct {
	Path    string // relative to the root, with slashes
	Content []byte
}

// A Problem is one place where a rule is broken.
type Problem struct {
	Path string
	Line int // 0: the file or folder as a whole
	What string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.Path, p.What)
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.What)
}

// A Rule finds the places where a tree breaks it.
type Rule struct {
	Name  string // also the name of its folder under testdata/bad
	Check func(*Tree) []Problem
}

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{
		{"layers", layers},
		{"wall", wall},
		{"pure", pure},
		{"package-comment", packageComment},
		{"file-length", fileLength},
		{"marks", marks},
		{"randomness", randomness},
		{"links", links},
		{"commands", commands},
		{"tables", tables},
		{"decisions", decisions},
		{"tested", tested},
		{"clock", clock},
		{"environment", environment},
		{"needs", needs},
	}
}

// textSuffixes are the files, besides Go, that the rules check.
var textSuffixes = []string{".md", ".sh", ".pml", ".c", ".h", ".yml", "Makefile", ".ci/run"}

// Load parses the module at root. Hidden folders (except .ci), testdata, and build outputs (bin,
// out) are not part of it.
func Load(root, module string) (*Tree, error) {
	t := &Tree{Module: module, root: root, fset: token.NewFileSet()}
	packages := make(map[string]*Package)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if skipDir(rel) {
				return fs.SkipDir
			}
			return nil
		}
		return t.load(packages, name, rel)
	})
	if err != nil {
		return nil, fmt.Errorf("tidy: %w", err)
	}
	for _, p := range packages {
		t.Packages = append(t.Packages, p)
	}
	slices.SortFunc(t.Packages, func(a, b *Package) int { return cmp.Compare(a.Dir, b.Dir) })
	return t, nil
}

func skipDir(rel string) bool {
	base := path.Base(rel)
	return rel != "." && (base[0] == '.' && base != ".ci" || base == "testdata" || rel == "bin" || rel == "out")
}

func (t *Tree) load(packages map[string]*Package, name, rel string) error {
	if path.Base(rel) == "go.mod" && rel != "go.mod" {
		t.Modules = append(t.Modules, path.Dir(rel))
	}
	isGo := strings.HasSuffix(rel, ".go")
	isText := slices.ContainsFunc(textSuffixes, func(s string) bool { return strings.HasSuffix(rel, s) })
	if !isGo && !isText {
		return nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text := &Text{Path: rel, Content: content}
	t.Texts = append(t.Texts, text)
	if !isGo {
		return nil
	}
	parsed, err := parser.ParseFile(t.fset, rel, content, parser.ParseComments)
	if err != nil {
		return err
	}
	dir := path.Dir(rel)
	if packages[dir] == nil {
		packages[dir] = &Package{Dir: dir}
	}
	packages[dir].Files = append(packages[dir].Files, &File{
		Text:      text,
		Test:      strings.HasSuffix(rel, "_test.go"),
		Generated: ast.IsGenerated(parsed),
		AST:       parsed,
	})
	return nil
}

// problem makes a Problem at a place in a file.
func (t *Tree) problem(f *File, at token.Pos, format string, args ...any) Problem {
	return Problem{Path: f.Path, Line: t.fset.Position(at).Line, What: fmt.Sprintf(format, args...)}
}

// lines is the number of lines of a text.
func (x *Text) lines() int { return bytes.Count(x.Content, []byte("\n")) }

// imported is the path of an import.
func imported(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser accepted it; no rule will match it
	}
	return p
}

// importedAs is the name under which a file uses an import, or "" if it does
// not import it by name.
func importedAs(f *ast.File, importPath, usual string) string {
	for _, spec := range f.Imports {
		switch {
		case imported(spec) != importPath:
		case spec.Name == nil:
			return usual
		default:
			return spec.Name.Name
		}
	}
	return ""
}
