package tidy

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	// markdownLink is the target of a link in a document, without anchor and title. The parameters of a generic function are none.
	markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)\s]*)?(?:\s+"[^"]*")?\)`)
	// docMention is a document that code and documents mention by its path.
	docMention = regexp.MustCompile(`\bdocs/[\w./-]+\.md\b`)
)

// links: every mentioned document exists.
func links(t *Tree) (problems []Problem) {
	for _, text := range t.Texts {
		for i, line := range bytes.Split(text.Content, []byte("\n")) {
			for _, target := range slices.Compact(targets(text.Path, line)) {
				if _, err := os.Stat(filepath.Join(t.root, filepath.FromSlash(target))); err != nil {
					problems = append(problems, Problem{Path: text.Path, Line: i + 1, What: fmt.Sprintf("there is no %s", target)})
				}
			}
		}
	}
	return problems
}

// targets are the files that a line mentions, relative to the root.
func targets(file string, line []byte) (found []string) {
	if strings.HasSuffix(file, ".md") {
		for _, m := range markdownLink.FindAllSubmatch(line, -1) {
			if target := string(m[1]); !strings.Contains(target, ":") {
				found = append(found, path.Join(path.Dir(file), target))
			}
		}
		line = markdownLink.ReplaceAll(line, nil)
	}
	for _, m := range docMention.FindAll(line, -1) {
		found = append(found, string(m))
	}
	return found
}
