package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Limits of the words that a reader may have to read. They only ever become smaller.
const (
	readmeWordsMax = 1_100
	pagesWordsMax  = 77_000 // of README.md and the pages below docs
)

// readme is the first page.
const readme = "README.md"

// uncounted are pages of tables that programs write.
var uncounted = []string{
	"docs/performance/results.md",
	"docs/reference/environment.md",
	"docs/reference/exit-codes.md",
	"docs/reference/json.md",
	"docs/reference/mpi-functions.md",
	"docs/reference/mpi-variables.md",
}

func wordsCommand() *cobra.Command {
	var list bool
	cmd := &cobra.Command{
		Use:   "words",
		Short: "count the words of README.md and docs, and fail if there are too many",
		Long: `words counts the words of README.md and of the pages below docs as wc -w does, prints the sum, and
fails above its limits. Pages that a program writes do not count. --list prints the words of each page.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return words(c.OutOrStdout(), ".", list)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "print the words of each page")
	return cmd
}

// A page is a document that counts.
type page struct {
	name  string // relative to the root, with slashes
	words int
}

// words prints how many words the documents in a folder have, and returns an error if there are too many.
func words(w io.Writer, root string, list bool) error {
	pages, err := countedPages(root)
	if err != nil {
		return err
	}
	total, first := 0, 0
	for _, p := range pages {
		total += p.words
		if p.name == readme {
			first = p.words
		}
		if list {
			fmt.Fprintf(w, "%7d %s\n", p.words, p.name)
		}
	}
	fmt.Fprintf(w, "words: %d of %d in %s, %d of %d in it and docs\n", first, readmeWordsMax, readme, total, pagesWordsMax)
	switch {
	case first > readmeWordsMax:
		return fmt.Errorf("words: %s has %d words too many: say less, or say it in docs", readme, first-readmeWordsMax)
	case total > pagesWordsMax:
		return fmt.Errorf("words: %s and docs have %d words too many: say less (go run ./tools/checks words --list)", readme, total-pagesWordsMax)
	}
	return nil
}

// countedPages returns the documents that count, by name.
func countedPages(root string) (pages []page, err error) {
	add := func(name string) error {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		pages = append(pages, page{name, len(bytes.Fields(text))})
		return err
	}
	if err := add(readme); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || slices.Contains(uncounted, filepath.ToSlash(name)) {
			return err
		}
		return add(filepath.ToSlash(name))
	})
	return pages, err
}
