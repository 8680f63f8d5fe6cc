package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNumbersOfReadme: the numbers in README.md are those in docs/performance/results.md, which make bench writes.
func TestNumbersOfReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	results, err := os.ReadFile(filepath.Join(root, "docs/performance/results.md"))
	require.NoError(t, err)
	rows := make(map[string]string)
	for line := range strings.Lines(string(results)) {
		if what, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && rows[what] == "" {
			rows[what] = line
		}
	}
	_, section, ok := strings.Cut(string(readme), "## Measured\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	checked := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 3 || cells[0] == "what" || cells[0] == "---" {
			continue
		}
		row := rows[cells[0]]
		number, _, _ := strings.Cut(cells[2], " (")
		assert.Contains(t, row, "| "+cells[1]+" |", "README.md: the number of %q differs from the results: %s", cells[0], row)
		assert.Contains(t, row, "("+number+")", "README.md: the number beside %q differs from the results: %s", cells[0], row)
		checked++
	}
	assert.Equal(t, 3, checked, "rows")
}

// TestTerminalOfReadme: the picture shows the commands of docs/guides/terminal.md, which TestCommands runs.
func TestTerminalOfReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/guides/terminal.md"))
	require.NoError(t, err)
	picture, err := os.ReadFile(filepath.Join(root, "docs/guides/terminal.svg"))
	require.NoError(t, err)
	shown := strings.NewReplacer("&#39;", "'", "&gt;", ">", "&amp;", "&", "&lt;", "<", "&#34;", `"`).Replace(string(picture))
	blocks, _ := Parse("docs/guides/terminal.md", string(text))
	for _, b := range blocks {
		for _, line := range b.Text {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				assert.Contains(t, shown, `<tspan class="c">`+command+"</tspan>", "run make terminal")
			}
		}
	}
}
