package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// standardText lists the functions of MPI-4.1, one in a line, without the forms for large counts and
// for other languages. What follows a colon says what takes the place of a function that has no
// counterpart here.
//
//go:embed standard.txt
var standardText string

// standardPackages are where the counterparts are.
var standardPackages = []string{
	"mpi", "mpi/attr", "mpi/datatype", "mpi/errclass", "mpi/file", "mpi/group", "mpi/info", "mpi/mem", "mpi/number", "mpi/object", "mpi/reduce", "mpi/rma", "mpi/topo", "mpi/tool",
}

func standardCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "standard",
		Short: "print docs/reference/mpi-functions.md: every function of MPI, the call here, its test; every named type",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return writeStandard(cmd.OutOrStdout(), ".") },
	}
}

// A counterpart is the call that takes the place of a function of the standard.
type counterpart struct{ call, test string }

// writeStandard writes the table of the module in a folder.
func writeStandard(w io.Writer, root string) error {
	found, err := counterparts(root)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprint(out, `# MPI's functions, and the calls here

Every function of MPI-4.1, except the forms for large counts (counts are ints of 64 bits here) and those for other languages. The call is
the one whose comment names the function; the test is the first file that makes the call. `+"`go run ./tools/checks standard`"+` prints this page.

| function | call | test |
| --- | --- | --- |
`)
	for line := range strings.Lines(standardText) {
		name, instead, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch c, ok := found[name]; {
		case name == "":
		case ok:
			fmt.Fprintf(out, "| `%s` | `%s` | %s |\n", name, c.call, c.test)
		case instead != "":
			fmt.Fprintf(out, "| `%s` | %s | |\n", name, instead)
		default:
			fmt.Fprintf(out, "| `%s` | **not yet** | |\n", name)
		}
	}
	writeTypes(out)
	return out.Flush()
}

// operatorGroups are the operators that are defined for the same types, by the first of them.
var operatorGroups = []struct {
	first *reduce.Op
	names string
}{
	{reduce.Sum, "sum, prod"}, {reduce.Max, "max, min"}, {reduce.LAnd, "logical"}, {reduce.BAnd, "bitwise"}, {reduce.MaxLoc, "maxloc, minloc"},
}

// writeTypes writes the table of the named types.
func writeTypes(out io.Writer) {
	fmt.Fprint(out, `
# MPI's named types, and those here

The types of MPI-4.1, with the optional ones. *Here* is the name of the type in package `+"`mpi/datatype`"+`, where `+"`Standards`"+` has this list; types that
no table of the standard tells apart are one. Sizes and extents, in bytes, are those of C and gfortran on amd64 and arm64. *External32* is the
size of MPI-4.1, 14.5.2. All types have the operators replace and no-op; *logical* is land, lor and lxor, *bitwise* is band, bor and bxor.

| type | here | size | extent | external32 | operators | |
| --- | --- | --- | --- | --- | --- | --- |
`)
	for _, s := range datatype.Standards {
		var operators []string
		for _, g := range operatorGroups {
			if g.first.ValidFor(s.Type) == nil {
				operators = append(operators, g.names)
			}
		}
		external, _ := s.Type.PackExternalSize(1) // of one element
		_, extent := s.Type.Extent()
		fmt.Fprintf(out, "| `%s` | %v | %d | %d | %d | %s | %s |\n", s.Name, s.Type, s.Type.Size(), extent, external, strings.Join(operators, "; "), s.Note)
	}
}

var mpiName = regexp.MustCompile(`\bMPIX?_[A-Z][A-Za-z_0-9]+`)

// counterparts finds the exported declarations whose comments name functions of the standard.
func counterparts(root string) (map[string]counterpart, error) {
	found := make(map[string]counterpart)
	for _, pkg := range standardPackages {
		tests, err := testsOf(root, pkg)
		if err != nil {
			return nil, err
		}
		files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			for _, d := range file.Decls {
				note(found, pkg, d, tests)
			}
		}
	}
	return found, nil
}

// note notes what a declaration's comment names. A function that several comments name belongs to
// the first.
func note(found map[string]counterpart, pkg string, d ast.Decl, tests []testFile) {
	add := func(symbol, comment string) {
		if !ast.IsExported(symbol[strings.LastIndexByte(symbol, '.')+1:]) {
			return
		}
		call := filepath.Base(pkg) + "." + symbol
		for _, name := range mpiName.FindAllString(comment, -1) {
			if _, ok := found[name]; !ok {
				found[name] = counterpart{call, testOf(symbol, tests)}
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		symbol := d.Name.Name
		if d.Recv != nil {
			receiver := receiverOf(d.Recv.List[0].Type)
			if !ast.IsExported(receiver) {
				return
			}
			symbol = receiver + "." + symbol
		}
		add(symbol, d.Doc.Text())
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				add(s.Name.Name, s.Doc.Text()+d.Doc.Text())
			case *ast.ValueSpec:
				add(s.Names[0].Name, s.Doc.Text()+s.Comment.Text()+d.Doc.Text())
			}
		}
	}
}

// receiverOf returns the name of a receiver's type.
func receiverOf(e ast.Expr) string {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// A testFile is the text of a file with tests.
type testFile struct{ name, text string }

// testsOf returns the tests of a package, and then those of the folders in it.
func testsOf(root, pkg string) (tests []testFile, err error) {
	err = filepath.WalkDir(filepath.Join(root, pkg), func(path string, d fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return err
		}
		text, err := os.ReadFile(path)
		name, rerr := filepath.Rel(root, path)
		tests = append(tests, testFile{name, string(text)})
		return firstError(err, rerr)
	})
	slices.SortStableFunc(tests, func(a, b testFile) int {
		return strings.Count(a.name, "/") - strings.Count(b.name, "/")
	})
	return tests, err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// testOf returns the first file that uses a symbol.
func testOf(symbol string, tests []testFile) string {
	_, method, isMethod := strings.Cut(symbol, ".")
	use := regexp.MustCompile(`\b` + symbol + `\b`)
	if isMethod {
		use = regexp.MustCompile(`\.` + method + `\b`)
	}
	for _, t := range tests {
		if use.MatchString(t.text) {
			return t.name
		}
	}
	return ""
}
