package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writePages makes a folder with documents of so many words. Their names count from the folder docs.
func writePages(t *testing.T, pages map[string]int) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, n := range pages {
		path := filepath.Join(root, "docs", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("a word\n", n/2)+strings.Repeat("odd\n", n%2)), 0o600))
	}
	return root
}

// first is README.md.
const first = "../README.md"

// TestWords: up to the limits all is well, and one word more is too much.
func TestWords(t *testing.T) {
	const half = (pagesWordsMax - readmeWordsMax) / 2
	for name, c := range map[string]struct {
		pages map[string]int
		wrong string
	}{
		"as many as there may be":   {map[string]int{first: readmeWordsMax, "a.md": half, "deep/er/b.md": half}, ""},
		"one too many in README.md": {map[string]int{first: readmeWordsMax + 1, "a.md": 1}, "README.md has 1 words too many"},
		"one too many below docs":   {map[string]int{first: readmeWordsMax, "a.md": half, "deep/er/b.md": half + 1}, "README.md and docs have 1 words too many"},
		"pages that do not count":   {map[string]int{first: 1, "a.md": 1, "reference/json.md": pagesWordsMax, "a.txt": pagesWordsMax, "../b.md": pagesWordsMax}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := words(&bytes.Buffer{}, writePages(t, c.pages), false)
			if c.wrong == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.wrong)
			}
		})
	}
}

// TestWordsOfEachPage: --list prints them before the sum.
func TestWordsOfEachPage(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, words(&out, writePages(t, map[string]int{first: 3, "b/c.md": 5, "a.md": 4, "reference/json.md": 7}), true))
	assert.Equal(t, "      3 README.md\n      4 docs/"+"a.md\n      5 docs/"+"b/c.md\n"+
		"words: 3 of 1100 in README.md, 12 of 77000 in it and docs\n", out.String())
}

// TestUncountedPagesExist: a page that has moved must not count again unnoticed, and no name stands for nothing.
func TestUncountedPagesExist(t *testing.T) {
	for _, name := range uncounted {
		assert.FileExists(t, filepath.Join("../..", name))
	}
}
