package pvfs

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

func TestTop(t *testing.T) {
	s := newShell(t)
	s.ok("mkdir /d")
	var v view.View
	require.NoError(t, json.Unmarshal([]byte(s.ok("--user 0 top --json --interval 500ms")), &v))
	require.NotEmpty(t, v.Servers)
	mkdirs := uint64(0)
	for _, one := range v.Servers {
		assert.Empty(t, one.Error)
		assert.Positive(t, one.SpaceTotal)
		assert.Positive(t, one.Rate, "the questions are requests, too")
		for _, k := range one.Kinds {
			if k.Name == "mkdir" {
				mkdirs += k.Count
				assert.Positive(t, k.Mean)
			}
		}
	}
	assert.Equal(t, uint64(1), mkdirs)
	assert.Empty(t, v.Notes)
	assert.Regexp(t, `^SERVER +REQUESTS .*\n\S+ +\d`, s.ok("--user 0 top --interval 500ms"))

	out := s.ok("--user 1000 top --interval 500ms")
	assert.Contains(t, out, "servers tell their counters to root only")
	assert.Regexp(t, `\n\S+ +0/s .* [0-9.]+ [TGM]iB `, out, "the space is for all")
}

func TestTopWithAServerThatIsDown(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 2})
	s := &shell{t: t, source: c.Source()}
	c.Stop(1)
	out := s.ok("--user 0 top --interval 500ms")
	assert.Contains(t, out, "no answer: ")
}

// TestTopWithNobody: one view without any server fails.
func TestTopWithNobody(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 2})
	s := &shell{t: t, source: c.Source()}
	c.Stop(0)
	c.Stop(1)
	assert.NotEmpty(t, s.no(ExitNobody, "--user 0 top --once"))
}
