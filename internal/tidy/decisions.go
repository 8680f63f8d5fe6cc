package tidy

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
)

// decisionsDir is the folder with a page for each decision that cost an argument.
const decisionsDir = "docs/internals/decisions"

// decisionWordsMax is room for what was decided, why, and its price. Words are counted as wc -w does.
const decisionWordsMax = 150

var decisionName = regexp.MustCompile(`^\d{4}-[a-z0-9-]+\.md$`)

// decisions: a decision is short, and its page has a number.
func decisions(t *Tree) (problems []Problem) {
	dir := filepath.Join(t.root, filepath.FromSlash(decisionsDir))
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return []Problem{{Path: decisionsDir, What: err.Error()}}
	}
	for _, entry := range entries {
		name := path.Join(decisionsDir, entry.Name())
		if !decisionName.MatchString(entry.Name()) {
			problems = append(problems, Problem{Path: name, What: "the name of a decision is NNNN-what-it-says.md"})
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			problems = append(problems, Problem{Path: name, What: err.Error()})
			continue
		}
		if n := len(bytes.Fields(content)); n > decisionWordsMax {
			problems = append(problems, Problem{Path: name, What: fmt.Sprintf(
				"%d words, over %d: what, why and price; the rest is in git's history", n, decisionWordsMax)})
		}
	}
	return problems
}
