package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// page is a page whose fences are written with quotes, so that they fit into a string of Go.
func page(text string) string { return strings.ReplaceAll(text, "'''", "```") }

func TestParse(t *testing.T) {
	blocks, problems := Parse("a.md", page(`# Title

'''sh run needs: fuse,fio
ls
'''

- item

    of an item, no block

<!-- go
var x int -->
'''go
x++
'''

'''console run fails until: it is up
$ ls
out
'''

'''go main.go
package main
'''

'''sh norun: it takes a while
make
'''

'''go from: bmi/doc.go
package bmi
'''
`))
	assert.Empty(t, problems)
	assert.Equal(t, []Block{
		{Page: "a.md", Line: 3, Lang: "sh", Mark: Mark{Run: true, Needs: []string{"fuse", "fio"}}, Text: []string{"ls"}},
		{Page: "a.md", Line: 13, Lang: "go", Go: "\nvar x int ", Text: []string{"x++"}},
		{Page: "a.md", Line: 17, Lang: "console", Mark: Mark{Run: true, Fails: true, Until: "it is up"}, Text: []string{"$ ls", "out"}},
		{Page: "a.md", Line: 22, Lang: "go", File: "main.go", Text: []string{"package main"}},
		{Page: "a.md", Line: 26, Lang: "sh", Mark: Mark{Reason: "it takes a while"}, Text: []string{"make"}},
		{Page: "a.md", Line: 30, Lang: "go", From: "bmi/doc.go", Text: []string{"package bmi"}},
	}, blocks)
}

func TestParseProblems(t *testing.T) {
	for text, want := range map[string]string{
		"'''\nx\n'''":                        "a.md:1: the block has no language",
		"text\n\n    ls\n":                   "a.md:3: a block by indentation cannot have a mark",
		"'''sh\nls\n'''":                     "a.md:1: the commands need a mark",
		"'''sh norun:\nls\n'''":              "a.md:1: the commands need a mark",
		"'''sh run norun: x\nls\n'''":        "a.md:1: the commands need a mark",
		"'''sh runs\nls\n'''":                `a.md:1: unknown mark "runs"`,
		"'''bash run\nls\n'''":               `a.md:1: unknown language "bash"`,
		"'''text\n$ ls\n'''":                 "a.md:1: a line starts with a prompt, so this is ```console",
		"'''sh run\n$ ls\n'''":               "a.md:1: a line starts with a prompt: write ```console",
		"'''console run\nls\n'''":            "a.md:1: the first line of ```console is no command",
		"'''text\nnever ends":                "a.md:1: the block has no end",
		"'''c run\nint x;\n'''":              "a.md:1: ```c takes no mark",
		"- item\n\n      nested, no block\n": "",
	} {
		_, problems := Parse("a.md", page(text))
		if want == "" {
			assert.Empty(t, problems, "%s", text)
			continue
		}
		require.NotEmpty(t, problems, "%s", text)
		assert.Contains(t, problems[0].String(), want, "%s", text)
	}
}

func TestExcerptsFindsDifferences(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nvar x int\nvar y int\n"), 0o600))
	block := func(from string, text ...string) []Block {
		return []Block{{Page: "a.md", Line: 3, From: from, Text: text}}
	}
	assert.Empty(t, Excerpts(dir, block("", "anything")))
	assert.Empty(t, Excerpts(dir, block("a.go", "package a")))
	assert.Empty(t, Excerpts(dir, block("a.go", "var x int", "var y int")))
	const different = "a.md:3: a.go does not have these lines, one after another"
	for _, text := range [][]string{{"var x"}, {"x int"}, {"var y int", "var x int"}} {
		problems := Excerpts(dir, block("a.go", text...))
		require.Len(t, problems, 1, "%q", text)
		assert.Equal(t, different, problems[0].String(), "%q", text)
	}
	assert.Len(t, Excerpts(dir, block("b.go", "package a")), 1)
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{"a\nb", "a\nb\n", true},
		{"a  \nb", "a\nb   \n", true},
		{"a", "a\nb\n", false},
		{"a\n...", "a\nb\nc\n", true},
		{"...\nc", "a\nb\nc\n", true},
		{"a\n...\nc", "a\nc\n", true},
		{"took ... s", "took 1.5 s\n", true},
		{"took ... s", "took 1.5\n s\n", false},
		{"1+1", "11\n", false},
		{"", "", false}, // an empty line is a line
	} {
		assert.Equal(t, c.want, matches(strings.Split(c.shown, "\n"), c.printed), "%q against %q", c.shown, c.printed)
	}
	assert.True(t, matches(nil, ""), "nothing shown, nothing printed")
	assert.False(t, matches(nil, "a\n"), "what is printed is to be shown")
}
