package docs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/programs"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse/fusetest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// root of the module.
const root = "../.."

// built are the programs that commands in pages use.
var built = []string{
	"cmd/bmi", "cmd/bmi-method-via", "cmd/mpibench", "cmd/mpiexec", "cmd/pvfs", "cmd/pvfsd",
	"examples/mpi/checkpoint", "examples/mpi/heat", "examples/mpi/hello", "examples/plugin-go",
}

// pages returns the blocks of README.md and of the pages below docs, by page, and what is wrong with their marks.
func pages(t *testing.T) (names []string, byPage map[string][]Block, wrong []Problem) {
	t.Helper()
	names = []string{"README.md"}
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			name, _ := filepath.Rel(root, path)
			names = append(names, name)
		}
		return err
	}))
	byPage = make(map[string][]Block)
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		blocks, problems := Parse(name, string(text))
		wrong = append(wrong, problems...)
		byPage[name] = blocks
	}
	return names, byPage, wrong
}

func report(t *testing.T, problems []Problem) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}

// TestBlocksHaveMarks: every block of every page says what it is, and whether it is run.
func TestBlocksHaveMarks(t *testing.T) {
	_, _, wrong := pages(t)
	report(t, wrong)
}

// TestCommands runs the commands of all pages. A page is a session: its commands run one after the other, in one shell.
func TestCommands(t *testing.T) {
	need.Program(t, "ip")
	names, byPage, _ := pages(t)
	bin := t.TempDir()
	require.NoError(t, programs.Build(bin, built...))
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	for _, name := range names {
		blocks := byPage[name]
		if !slices.ContainsFunc(blocks, func(b Block) bool { return b.Mark.Run }) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runPage(t, &Session{Page: name, Root: top, Bin: bin}, blocks)
		})
	}
}

// runPage runs the commands of a page, if there are any.
func runPage(t *testing.T, s *Session, blocks []Block) {
	skipped := make(map[int]string)
	runs := 0
	for _, b := range blocks {
		if !b.Mark.Run {
			continue
		}
		if why := cannot(t, b); why != "" {
			skipped[b.Line] = why
			t.Logf("%s:%d: skipped: %s", b.Page, b.Line, why)
			continue
		}
		runs++
	}
	if runs == 0 {
		if len(skipped) > 0 {
			t.Skipf("%s: skipped: %v", s.Page, skipped)
		}
		return
	}
	var err error
	s.Work, err = os.MkdirTemp("", "docs-") // not t.TempDir: names of sockets must be short
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(s.Work)) }()
	ctx, cancel := context.WithTimeout(t.Context(), wallclock.Patience)
	defer cancel()
	output, err := s.Run(ctx, Script(blocks, func(b Block) string { return skipped[b.Line] }))
	var cannot *CannotError
	if errors.As(err, &cannot) {
		need.Unless(t, need.Namespaces, err)
	}
	if ctx.Err() != nil {
		t.Errorf("%s did not end within %v, and was killed", s.Page, wallclock.Patience)
	}
	if err != nil {
		t.Error(err)
		return
	}
	if testing.Verbose() {
		t.Logf("%s printed:\n%s", s.Page, indent(printable(output)))
	}
	report(t, Compare(blocks, output, func(b Block) bool { return skipped[b.Line] == "" }))
}

// cannot says why a block cannot run here, or now.
func cannot(t *testing.T, b Block) string {
	if b.Mark.Slow && testing.Short() {
		return "not in the fast tier"
	}
	for _, what := range b.Mark.Needs {
		var err error
		if what == need.FUSE {
			err = fusetest.Try()
		} else {
			err = need.Missing(what)
		}
		if err == nil {
			continue
		}
		if need.Must(what) {
			t.Errorf("%s:%d: needs %s: %v; %s forbids to skip", b.Page, b.Line, what, err, need.MustVariable)
		}
		return fmt.Sprintf("needs %s: %v", what, err)
	}
	return ""
}

// TestExcerpts: the files that pages cite have the lines that the pages show.
func TestExcerpts(t *testing.T) {
	t.Parallel()
	_, byPage, _ := pages(t)
	for _, blocks := range byPage {
		report(t, Excerpts(root, blocks))
	}
}

// TestGo type-checks the blocks of Go of all pages.
func TestGo(t *testing.T) {
	require.NoError(t, programs.Sources("..."))
	t.Parallel()
	names, byPage, _ := pages(t)
	var blocks []Block
	for _, name := range names {
		blocks = append(blocks, byPage[name]...)
	}
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	problems, err := CheckGo(top, t.TempDir(), blocks)
	require.NoError(t, err)
	report(t, problems)
}
