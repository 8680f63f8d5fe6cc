package peer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/peertest"
)

// TestTranscripts plays testdata/*.txt, one behaviour each, and compares the
// results with those in the file.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			played := peertest.Play(string(text))
			for _, bad := range []string{"error: ", "VIOLATION"} {
				assert.NotContains(t, played, bad)
			}
			golden.Check(t, file, []byte(played))
		})
	}
}
