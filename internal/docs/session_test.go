package docs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// session runs the commands of a page that a test makes.
func session(t *testing.T, text string) (problems []Problem, err error) {
	t.Helper()
	blocks, wrong := Parse("a.md", page(text))
	require.Empty(t, wrong)
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	s := &Session{Page: "a.md", Root: top, Bin: t.TempDir()}
	s.Work, err = os.MkdirTemp("", "docs-")
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(s.Work)) }()
	output, err := s.Run(t.Context(), Script(blocks, func(Block) string { return "" }))
	if _, ok := errors.AsType[*CannotError](err); ok {
		need.Unless(t, need.Namespaces, err)
	}
	return Compare(blocks, output, func(Block) bool { return true }), err
}

func TestSession(t *testing.T) {
	t.Parallel()
	problems, err := session(t, `
'''sh run
echo one > file
export VARIABLE=two
seq 100000 | head -n 1 # seq gets SIGPIPE
'''

'''go three.go
package three // with 'quotes' and $VARIABLE
'''

'''sh run until: ready
echo ready
read -r forever < <(tail -f file)
exec sleep infinity
'''

'''console run fails
$ cat file; echo $VARIABLE
one
two
$ cat three.go
package three // with 'quotes' and $VARIABLE
$ cat missing
cat: missing: ...
$ cat <<END
> a
> END
a
'''
`)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestSessionFails(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"'''sh run\ntrue\nfalse # here\ntrue\n'''":      "a.md:3: exit code 1: false",
		"'''sh run\nfalse | true\n'''":                  "a.md:2: exit code 1",
		"'''sh run\ntrue\n'''\n\n'''sh run\nbim\n'''":   "a.md:6: exit code 127: bim",
		"'''console run fails\n$ true\n'''":             `a.md:1: the block is marked "fails", and nothing in it failed`,
		"'''sh run until: ready\necho not yet\n'''":     `a.md:1: it ended and did not print "ready". It printed:` + "\nnot yet",
		"'''sh run\ngo build -o bin/ ./cmd/nobody\n'''": "a.md:2: exit code 1",
	} {
		_, err := session(t, text)
		assert.ErrorContains(t, err, want, "%s", text)
	}
	_, err := session(t, "'''sh run\necho (\n'''")
	assert.ErrorContains(t, err, "a.md: line 2: syntax error")

	problems, err := session(t, "text\n\n'''console run\n$ echo a\na\n$ echo b\nc\n'''")
	require.NoError(t, err)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0].String(), `a.md:6: the output of "echo b" differs`)
}

func TestCheckGo(t *testing.T) {
	t.Parallel()
	blocks, wrong := Parse("pages/a.md", page(`
<!-- go var ctx context.Context; var w *mpi.Comm -->
'''go
err := w.Barrier(ctx)
...
unused := fmt.Sprint(err)
'''

'''go
w.Barier(ctx)
'''

'''go
if true {
'''

'''go main.go
package main

func main() { missing() }
'''
`))
	require.Empty(t, wrong)
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	problems, err := CheckGo(top, t.TempDir(), blocks)
	require.NoError(t, err)
	var texts []string
	for _, p := range problems {
		texts = append(texts, p.String())
	}
	require.Len(t, texts, 4, "%q", texts)
	assert.Contains(t, texts[0], "pages/a.md:13: this is no Go")
	assert.Contains(t, texts[1], "pages/a.md:10: undefined: ctx")
	assert.Contains(t, texts[2], "pages/a.md:10: undefined: w")
	assert.Contains(t, texts[3], "pages/a.md:20: undefined: missing")
}
