package tidy

import (
	"bytes"
	"fmt"
	"path"
)

// tables: every row of a table has as many cells as its head.
func tables(t *Tree) (problems []Problem) {
	for _, text := range t.Texts {
		if path.Ext(text.Path) != ".md" {
			continue
		}
		head, code := 0, false
		for i, line := range bytes.Split(text.Content, []byte("\n")) {
			if bytes.HasPrefix(line, []byte("```")) {
				code = !code
			}
			bars := bytes.Count(line, []byte("|")) - bytes.Count(line, []byte(`\|`))
			switch {
			case code || !bytes.HasPrefix(line, []byte("|")):
				head = 0
			case head == 0:
				head = bars
			case bars != head:
				problems = append(problems, Problem{Path: text.Path, Line: i + 1, What: fmt.Sprintf(
					"%d cells in a table of %d", bars-1, head-1)})
			}
		}
	}
	return problems
}
