package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPublished: api/ has a file for each published package. make lint compares them.
func TestPublished(t *testing.T) {
	var want []string
	for _, pkg := range published {
		want = append(want, apiFile("../..", pkg))
	}
	files, err := filepath.Glob("../../api/*")
	require.NoError(t, err)
	assert.ElementsMatch(t, want, files)
}

// before and after are a package and its next version; changes are what changed.
const (
	before = `package p

import "example.org/m/internal/q"

const C = 1

var V map[string]int

type S struct {
	A, B int
	c    int
}

func (S) Get() int { return 0 }
func (*S) Set(n int, more ...string) {}

type I interface{ Do(f func(x int)) error }

type L[T any] []T

type Q = q.Q

func F[K comparable](k K) (a, b int) { return }
func gone() {}
`
	after = `package p

import "example.org/m/internal/q"

const C = 2

type S struct {
	A int
	c string
}

func (*S) Get() int { return 0 }
func (*S) Set(other int, more ...string) {}

type I interface{ Do(f func(x int)) error }

type L[T any] []T

type Q = q.Q

func F[K comparable](k K) (a, b int) { return }
func New() *S { return nil }
`
)

// apiModule is a module with package p and a package that is not for programs.
func apiModule(t *testing.T, p string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n", "p/p.go": p, "internal/q/q.go": "package q\n\ntype Q int\n\nfunc (Q) Name() string { return \"\" }\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return root
}

// TestExported: the lines for each kind of name, and the differences between two versions.
func TestExported(t *testing.T) {
	root := apiModule(t, before)
	lines, err := exported(t.Context(), root, []string{"p"})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"const C untyped int = 1",
		"func F[K comparable](K) (int, int)",
		"method (*S) Set(int, ...string)",
		"method (Q) Name() string",
		"method (S) Get() int",
		"type I interface",
		"type I interface, Do(func(x int)) error",
		"type L[T any] []T",
		"type Q = internal/q.Q",
		"type S struct",
		"type S struct, A int",
		"type S struct, B int",
		"var V map[string]int",
	}, lines["p"])

	changes, err := changedAPI(t.Context(), root, []string{"p"})
	require.NoError(t, err)
	assert.Equal(t, []string{"p: there is no api/p.txt"}, changes)
	require.NoError(t, updateAPI(t.Context(), root, []string{"p"}))
	require.NoError(t, os.WriteFile(filepath.Join(root, "p", "p.go"), []byte(after), 0o600))
	changes, err = changedAPI(t.Context(), root, []string{"p"})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"p: removed: const C untyped int = 1",
		"p: removed: method (S) Get() int",
		"p: removed: type S struct, B int",
		"p: removed: var V map[string]int",
		"p: added: const C untyped int = 2",
		"p: added: func New() *S",
		"p: added: method (*S) Get() int",
	}, changes)
}

// TestAgainstTag: what breaks programs for the last tag is listed, and fails from v1 on. Without a tag that is said.
func TestAgainstTag(t *testing.T) {
	t.Setenv("GOBIN", t.TempDir())
	if _, err := run(t.Context(), t.TempDir(), "go", "install", apidiff); err != nil {
		needModules(t, []byte(err.Error()))
		require.NoError(t, err)
	}
	root := apiModule(t, before)
	git := func(args ...string) {
		t.Helper()
		_, err := run(t.Context(), root, "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		require.NoError(t, err)
	}
	compare := func() (string, error) {
		var out bytes.Buffer
		err := againstTag(t.Context(), &out, root, []string{"p"})
		return out.String(), err
	}
	git("init", "--quiet")
	git("add", ".")
	git("commit", "--quiet", "-m", "first")
	out, err := compare()
	require.NoError(t, err)
	assert.Contains(t, out, "NOT COMPARED WITH A RELEASE: there is no tag")

	git("tag", "v0.1.0")
	require.NoError(t, os.WriteFile(filepath.Join(root, "p", "p.go"), []byte(after), 0o600))
	out, err = compare()
	require.NoError(t, err, "before v1 nothing is promised")
	assert.Contains(t, out, "breaks programs for v0.1.0: - ./p.V: removed\n")
	assert.Contains(t, out, "incompatible changes since v0.1.0\n")

	git("tag", "-a", "-m", "promise", "v1.0.0")
	out, err = compare()
	require.ErrorContains(t, err, "v1.0.0 promised what is gone")
	assert.Contains(t, out, "breaks programs for v1.0.0: - ./p.V: removed\n")
}
