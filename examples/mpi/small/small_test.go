package small

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/need"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProgramsRun(t *testing.T) {
	mpitest.Over(t, []string{"mem", "via+shm"}, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			for _, program := range Programs {
				require.NoError(t, program.Run(t.Context(), p.World()), program.Name)
			}
		})
	})
}

// TestTheirsRun: the programs in C and in Python are right, too.
func TestTheirsRun(t *testing.T) {
	mpicc, hydra := need.Program(t, "mpicc.mpich"), need.Program(t, "mpiexec.hydra")
	t.Run("C", func(t *testing.T) {
		program := filepath.Join(t.TempDir(), "small")
		out, err := exec.CommandContext(t.Context(), mpicc, "-w", "-o", program, "others/small.c").CombinedOutput()
		require.NoError(t, err, "%s", out)
		out, err = exec.CommandContext(t.Context(), hydra, "-n", "2", program).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "100 numbers from 0")
	})
	t.Run("Python", func(t *testing.T) {
		need.Python(t, "mpi4py", "numpy")
		launcher := need.Program(t, "mpiexec.openmpi")
		out, err := exec.CommandContext(t.Context(), launcher, "--allow-run-as-root", "--oversubscribe", "-n", "2", "/usr/bin/python3", "others/small.py").CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "100 numbers from 0")
	})
}

// shown are the programs of docs/guides/mpi-write.md.
var shown = []string{"message", "sum", "settings"}

// TestThePageShowsThem: docs/guides/mpi-write.md has some programs as they are in the three files.
func TestThePageShowsThem(t *testing.T) {
	page := read(t, "../../../docs/guides/mpi-write.md")
	ours, c, python := functions(t), read(t, "others/small.c"), read(t, "others/small.py")
	for i, program := range Programs {
		if !slices.Contains(shown, program.Name) {
			continue
		}
		assert.Contains(t, page, ours[i], program.Name)
		assert.Contains(t, page, cut(t, c, "static void "+program.Name+"(", "\n}\n"), program.Name)
		assert.Contains(t, page, cut(t, python, "def "+program.Name+"(", "\n\n\n"), program.Name)
	}
}

// functions returns the texts of the programs in small.go.
func functions(t *testing.T) (texts []string) {
	source := read(t, "small.go")
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "small.go", source, 0)
	require.NoError(t, err)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			texts = append(texts, source[set.Position(f.Pos()).Offset:set.Position(f.End()).Offset])
		}
	}
	require.Len(t, texts, len(Programs))
	return texts
}

// cut returns the part of a text from a beginning to an end.
func cut(t *testing.T, text, begin, end string) string {
	_, rest, found := strings.Cut(text, begin)
	require.True(t, found, begin)
	body, _, found := strings.Cut(rest, end)
	require.True(t, found, begin)
	return begin + body + strings.TrimRight(end, "\n")
}

func read(t *testing.T, name string) string {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}
