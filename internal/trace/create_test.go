package trace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/trace"
)

// TestCreate: only the owner can read a file. An existing file is overwritten only if it is the user's own
// trace and no process writes it.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "new", "t.json")
	first, err := trace.Create(name, trace.Options{Every: -1})
	require.NoError(t, err)
	mode := func(name string) os.FileMode {
		info, err := os.Stat(name)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	assert.Equal(t, os.FileMode(0o600), mode(name))
	assert.Equal(t, os.FileMode(0o700), mode(filepath.Dir(name)))
	k := first.NewTrack("t", 0)
	for range 100 {
		k.Put(&trace.Event{Kind: &call})
	}
	_, err = trace.Create(name, trace.Options{})
	require.ErrorContains(t, err, "another process is writing")
	require.NoError(t, first.Close())
	require.NoError(t, os.Chmod(name, 0o644))
	second, err := trace.Create(name, trace.Options{Every: -1})
	require.NoError(t, err, "a trace that has ended")
	require.NoError(t, second.Close())
	assert.Equal(t, os.FileMode(0o600), mode(name))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var all []any
	require.NoError(t, json.Unmarshal(text, &all))
	assert.Len(t, all, 2, "nothing of the first is left")

	other := func(n string) string { return filepath.Join(dir, n) }
	require.NoError(t, os.WriteFile(other("letter"), []byte("[\n{\"name\":\"dear\"}]"), 0o600))
	require.NoError(t, os.WriteFile(other("short"), []byte("["), 0o600))
	require.NoError(t, os.Symlink(name, other("symbolic")))
	require.NoError(t, os.Link(name, other("second name")))
	require.NoError(t, unix.Mkfifo(other("pipe"), 0o600))
	for n, want := range map[string]string{
		"letter": "is no trace", "short": "is no trace", "symbolic": "symbolic link", "second name": "another name",
		"pipe": "is no regular file", ".": "is a directory", "no/such/folder": "no such file",
	} {
		_, err := trace.Create(other(n), trace.Options{})
		assert.ErrorContains(t, err, want, n)
	}
	text, err = os.ReadFile(other("letter"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "dear")
}

func TestExpand(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	for _, name := range []string{"PMI_RANK", "PMI_ID", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_SPAWNED"} {
		t.Setenv(name, "")
	}
	expand := func(pattern string) string {
		name, err := trace.Expand(pattern)
		require.NoError(t, err)
		return name
	}
	assert.Equal(t, fmt.Sprintf("a-0-%s-%d-%%.json", host, os.Getpid()), expand("a-%r-%h-%p-%%.json"))
	t.Setenv("SLURM_PROCID", "12")
	assert.Equal(t, "12", expand("%r"))
	t.Setenv("PMI_RANK", "7")
	assert.Equal(t, "7", expand("%r"))
	t.Setenv("PMI_SPAWNED", "1")
	assert.Equal(t, fmt.Sprintf("7-spawned-%d", os.Getpid()), expand("%r"), "ranks of spawned processes begin at 0 again")
	t.Setenv("PMI_RANK", "../../x")
	assert.NotContains(t, expand("%r"), "..")
	for _, wrong := range []string{"%", "a%", "%x", "%ä"} {
		_, err := trace.Expand(wrong)
		assert.Error(t, err, wrong)
	}
}

func TestContext(t *testing.T) {
	var tr trace.Trace
	assert.Nil(t, trace.From(context.Background()))
	assert.Same(t, &tr, trace.From(trace.With(context.Background(), &tr)))
}

func TestThisProcess(t *testing.T) {
	p := trace.ThisProcess()
	assert.Equal(t, os.Getpid(), p.PID)
	assert.Positive(t, p.Wall)
	assert.Positive(t, p.Monotonic)
	assert.True(t, strings.HasPrefix(p.Title(), p.Program) || p.Rank != "", p.Title())
}
