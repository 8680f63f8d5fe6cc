package docs

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// packageOf are packages of the standard library that fragments may use.
var packageOf = map[string]string{
	"bufio": "bufio", "bytes": "bytes", "context": "context", "errors": "errors", "filepath": "path/filepath", "flag": "flag",
	"fmt": "fmt", "http": "net/http", "io": "io", "log": "log", "math": "math", "os": "os", "signal": "os/signal", "slices": "slices",
	"slog": "log/slog", "strings": "strings", "sync": "sync", "testing": "testing", "time": "time",
}

// folders are where packages of this module are, by which a fragment finds them.
var folders = []string{"", "mpi", "pvfs", "bmi", "methods"}

// Excerpts compares blocks that show a part of a file with the file.
func Excerpts(root string, blocks []Block) (problems []Problem) {
	for _, b := range blocks {
		if b.From == "" {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, b.From))
		switch {
		case err != nil:
			problems = append(problems, Problem{b.Page, b.Line, err.Error()})
		case !strings.Contains("\n"+string(source), "\n"+strings.Join(b.Text, "\n")+"\n"):
			problems = append(problems, Problem{b.Page, b.Line, b.From + " does not have these lines, one after another"})
		}
	}
	return problems
}

// CheckGo type-checks the blocks of Go of some pages in one module below dir, which uses the module at root.
// Blocks with a file name make up a file, and the files of a page a package; any other block is a package of its own.
func CheckGo(root, dir string, blocks []Block) ([]Problem, error) {
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	module, require, _ := strings.Cut(strings.TrimPrefix(string(mod), "module "), "\n")
	require, _, _ = strings.Cut(require, "\ntool")
	mod = fmt.Appendf(nil, "module example.com/pages\n%s\nrequire %[2]s v0.0.0\nreplace %[2]s => %q\n", require, module, root)
	files := map[string][]byte{"go.mod": mod, "go.sum": sum}
	var problems []Problem
	for _, b := range blocks {
		if b.Lang != "go" || b.From != "" {
			continue
		}
		name, text := b.place(), b.whole(root, module)
		if _, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution); err != nil && b.File == "" {
			problems = append(problems, Problem{b.Page, b.Line, "this is no Go: " + err.Error()})
			continue
		}
		files[name] = append(files[name], text...)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
	}
	checked, err := typeErrors(dir)
	return append(problems, checked...), err
}

// place is the file in the module that a block belongs to.
func (b *Block) place() string {
	page := strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(b.Page)
	if b.File != "" {
		return page + "/" + b.File
	}
	return fmt.Sprintf("%s/line%d/block.go", page, b.Line)
}

// whole returns a block as a file, or the part of one, that compiles. A fragment is put into a function, below what the
// comment before it declares, and gets the imports that it needs.
func (b *Block) whole(root, module string) string {
	text := slices.Clone(b.Text)
	for i, line := range text {
		if strings.TrimSpace(line) == "..." {
			text[i] = ""
		}
	}
	body := fmt.Sprintf("//line /%s:%d\n%s\n", b.Page, b.Line+1, strings.Join(text, "\n"))
	first := strings.TrimSpace(strings.Join(text, "\n"))
	switch {
	case b.File != "" || strings.HasPrefix(first, "package ") || strings.HasPrefix(first, "//") && strings.Contains(first, "\npackage "):
		return body
	case strings.HasPrefix(first, `_ "`) || strings.HasPrefix(first, `"`):
		return "package fragment\nimport (\n" + body + ")\n"
	case !strings.HasPrefix(first, "func ") && !strings.HasPrefix(first, "type ") && !strings.HasPrefix(first, "var "):
		body = "func _() {\n" + body + "}\n"
	}
	code := fmt.Sprintf("//line /%s:%d\n%s\n%s", b.Page, b.Line-1-strings.Count(b.Go, "\n"), b.Go, body)
	return "package fragment\n" + imports(root, module, code) + code
}

// imports returns the imports of a fragment: of what it writes before a dot and does not declare.
func imports(root, module, code string) string {
	file, _ := parser.ParseFile(token.NewFileSet(), "", "package fragment\n"+code, 0)
	if file == nil {
		return ""
	}
	var list []string
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok || id.Obj != nil {
			return true
		}
		if path := importPath(root, module, id.Name); path != "" {
			list = append(list, fmt.Sprintf("import %q\n", path))
		}
		return true
	})
	slices.Sort(list)
	return strings.Join(slices.Compact(list), "")
}

func importPath(root, module, name string) string {
	if path := packageOf[name]; path != "" {
		return path
	}
	for _, folder := range folders {
		if found, _ := filepath.Glob(filepath.Join(root, folder, name, "*.go")); len(found) > 0 {
			return module + "/" + filepath.ToSlash(filepath.Join(folder, name))
		}
	}
	return ""
}

// typeErrors type-checks the packages of a module. What a fragment declares and does not use is no error.
func typeErrors(dir string) (problems []Problem, err error) {
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOWORK=off")
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: dir, Env: env, Tests: true}, "./...")
	if err != nil {
		return nil, err
	}
	seen := make(map[Problem]bool)
	for _, p := range loaded {
		for _, e := range p.Errors {
			if e.Kind != packages.TypeError && e.Pos != "" && e.Pos != "-" {
				seen[problemAt(e.Pos, e.Msg)] = true
			}
		}
		for _, e := range p.TypeErrors {
			if at := e.Fset.Position(e.Pos); !e.Soft || p.Name != "fragment" {
				seen[Problem{at.Filename, at.Line, e.Msg}] = true
			}
		}
	}
	for p := range seen {
		p.Page = strings.TrimPrefix(p.Page, "/")
		problems = append(problems, p)
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Page, b.Page), a.Line-b.Line, strings.Compare(a.Text, b.Text))
	})
	return problems, nil
}

// problemAt reads a position of the go command: FILE:LINE:COLUMN.
func problemAt(at, text string) Problem {
	page, rest, _ := strings.Cut(at, ":")
	var line int
	_, _ = fmt.Sscanf(rest, "%d", &line)
	return Problem{page, line, text}
}
