package seldom

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
)

func TestLinesAreLeftOutAndCounted(t *testing.T) {
	var out logtext.Buffer
	now := time.Duration(0)
	log := slog.New(Handler(slog.NewTextHandler(&out, nil), slog.LevelWarn, func() time.Duration { return now }))
	other := log.With("a", 1).WithGroup("g")
	for range 3 {
		log.Warn("bad peer")
		other.Warn("bad peer")
		log.Error("broken")
	}
	other.Warn("another text")
	require.Equal(t, 1, strings.Count(out.String(), "bad peer"))
	require.Equal(t, 3, strings.Count(out.String(), "broken"))
	require.Contains(t, out.String(), "another text")
	require.NotContains(t, out.String(), "left out")

	now = Every
	log.Warn("bad peer")
	require.Contains(t, out.String(), `msg="bad peer" "left out"=5`)

	for i := range 3 * textsMax {
		log.Warn(fmt.Sprint("text ", i))
	}
	require.Contains(t, out.String(), fmt.Sprint("text ", 3*textsMax-1))
}
