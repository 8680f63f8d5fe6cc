package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var guideBlock = regexp.MustCompile("(?ms)^```go (\\S+)\n(.*?)^```$")

// TestGuide: docs/guides/writing-a-method.md shows these files, whole and as they are.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guides/writing-a-method.md")
	require.NoError(t, err)
	blocks := map[string][]string{}
	for _, m := range guideBlock.FindAllStringSubmatch(string(guide), -1) {
		blocks[m[1]] = append(blocks[m[1]], m[2])
	}
	for _, file := range []string{
		"main.go", "driver.go", "socket.go", "method.go", "poll.go", "sleep.go", "optional.go", "conformance_test.go", "plugin_test.go",
	} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(source), strings.Join(blocks[file], "\n"), "docs/guides/writing-a-method.md and %s differ", file)
		delete(blocks, file)
	}
	assert.Empty(t, blocks, "files of the guide that are not there")
}
