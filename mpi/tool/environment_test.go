package tool_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/tool"
)

// notSettings are environment variables that the library reads and that are no settings of it.
var notSettings = map[string]string{
	"HOME":              "the user's",
	"XDG_RUNTIME_DIR":   "the user's",
	"PMI_FD":            "a launcher tells its processes",
	"PMI_PORT":          "a launcher tells its processes",
	"PMI_SPAWNED":       "a launcher tells its processes",
	"PMI_JOBID":         "a launcher tells its processes",
	"SLURM_PROCID":      "a launcher tells its processes",
	"PMIX_NAMESPACE":    "a launcher tells its processes",
	"PMIX_RANK":         "a launcher tells its processes",
	"BMI_METHOD_PLUGIN": "a program tells its plugins",
	"BMI_PLUGIN_SOCKET": "a program tells its plugins",
	"VIADUCT_VIHOSTS":   "for programs that use package vipl without a method",
}

// notLibrary are folders of programs and of helpers of tests.
var notLibrary = []string{"internal/mpi/launch", "internal/mpi/pmi/pmixtest", "internal/mpi/pmi/slurmtest", "methods/methodtest"}

// TestEveryEnvironmentVariableIsAControl reads the source: each variable that the library reads is a
// control variable, or one of notSettings.
func TestEveryEnvironmentVariableIsAControl(t *testing.T) {
	shown := make(map[string]bool)
	alone(t, "mem", func(t *testing.T, _ *mpi.Process, i *tool.Interface) {
		all, err := i.Controls()
		require.NoError(t, err)
		for _, c := range all {
			shown[c.Env] = true
		}
	})
	read := environment(t, "../..", "bmi", "mpi", "methods", "plugins", "internal/mpi", "internal/nic", "internal/plugins", "internal/progress", "internal/tcp", "internal/via")
	assert.Greater(t, len(read), 20)
	for name, where := range read {
		assert.True(t, shown[name] || notSettings[name] != "", "%s, which %s reads, is no control variable", name, where)
	}
	for name := range notSettings {
		assert.NotEmpty(t, read[name], "nobody reads %s", name)
	}
}

// environment returns the environment variables that the packages in some folders read, and a file
// that reads each.
func environment(t *testing.T, root string, folders ...string) map[string]string {
	read := make(map[string]string)
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(root, path)
			switch {
			case err != nil:
				return err
			case d.IsDir() && (slices.Contains(notLibrary, filepath.ToSlash(rel)) || d.Name() == "testdata"):
				return filepath.SkipDir
			case d.IsDir():
				packageEnvironment(t, path, rel, read)
			}
			return nil
		}))
	}
	return read
}

// packageEnvironment adds the environment variables of a package: the constants and lists that it
// passes to os.Getenv and its like.
func packageEnvironment(t *testing.T, dir, rel string, read map[string]string) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	values := make(map[string][]string) // of constants and variables
	var calls []*ast.CallExpr
	ranges := make(map[string]string) // the name of the list that a loop variable ranges over
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, id := range n.Names {
					if i < len(n.Values) {
						values[id.Name] = append(values[id.Name], literals(n.Values[i])...)
					}
				}
			case *ast.RangeStmt:
				if v, ok := n.Value.(*ast.Ident); ok {
					if over, ok := n.X.(*ast.Ident); ok {
						ranges[v.Name] = over.Name
					}
				}
			case *ast.CallExpr:
				if readsEnvironment(n) {
					calls = append(calls, n)
				}
			}
			return true
		})
	}
	for _, call := range calls {
		found := literals(call.Args[0])
		if id := identifier(call.Args[0]); id != "" {
			found = values[id]
			if over, ok := ranges[id]; ok {
				found = append(found, values[over]...)
			}
		}
		for _, name := range found {
			read[name] = filepath.ToSlash(rel)
		}
	}
}

// readsEnvironment tells whether a call is one of os.Getenv, os.LookupEnv, or of a function that is
// passed on in their place.
func readsEnvironment(call *ast.CallExpr) bool {
	if len(call.Args) != 1 {
		return false
	}
	switch fn := call.Fun.(type) {
	case *ast.SelectorExpr:
		return fn.Sel.Name == "Getenv" || fn.Sel.Name == "LookupEnv"
	case *ast.Ident:
		return fn.Name == "getenv"
	}
	return false
}

// identifier returns the name of a constant or variable, also as the element of a list.
func identifier(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.IndexExpr:
		return identifier(e.X)
	}
	return ""
}

// literals returns the strings in an expression.
func literals(e ast.Expr) (all []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil {
				all = append(all, s)
			}
		}
		return true
	})
	return all
}
