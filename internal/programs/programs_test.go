package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBuild(t *testing.T) {
	store, err := openStore()
	require.NoError(t, err)
	store.close()
	near, err := os.MkdirTemp(filepath.Dir(store.folder), "test-") // a file has two names within a mount only
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(near)) }()
	first, second := filepath.Join(near, "1"), filepath.Join(near, "2")
	require.NoError(t, os.Mkdir(first, 0o700))
	require.NoError(t, os.Mkdir(second, 0o700))
	require.NoError(t, Build(first, "cmd/mpiexec"))
	require.NoError(t, Build(second, "cmd/mpiexec"))
	require.NoError(t, Build(second, "cmd/mpiexec"), "it replaces what is there")
	a, err := os.Stat(filepath.Join(first, "mpiexec"))
	require.NoError(t, err)
	b, err := os.Stat(filepath.Join(second, "mpiexec"))
	require.NoError(t, err)
	assert.True(t, os.SameFile(a, b), "it was built once")
	out, err := exec.Command(filepath.Join(second, "mpiexec"), "--help").CombinedOutput()
	require.NoError(t, err)
	assert.Contains(t, string(out), "mpiexec")
}

// TestFresh: a program is built again when anything has changed that it consists of.
func TestFresh(t *testing.T) {
	for name, change := range map[string]func(folder, file string) error{
		"nothing":           func(string, string) error { return nil },
		"a file is written": func(folder, _ string) error { return os.WriteFile(filepath.Join(folder, "a.go"), []byte("b"), 0o600) },
		"in its old time": func(folder, _ string) error {
			return os.Chtimes(filepath.Join(folder, "a.go"), time.Unix(0, 0), time.Unix(0, 0))
		},
		"a file is new":      func(folder, _ string) error { return os.WriteFile(filepath.Join(folder, "b.go"), nil, 0o600) },
		"a file is gone":     func(folder, _ string) error { return os.Remove(filepath.Join(folder, "a.go")) },
		"an embedded file":   func(_, file string) error { return os.WriteFile(file, []byte("b"), 0o600) },
		"everything is gone": func(folder, _ string) error { return os.RemoveAll(folder) },
	} {
		folder, file := t.TempDir(), filepath.Join(t.TempDir(), "page.html")
		s := &store{folder: t.TempDir()}
		require.NoError(t, os.WriteFile(filepath.Join(folder, "a.go"), []byte("a"), 0o600))
		require.NoError(t, os.WriteFile(file, []byte("a"), 0o600))
		before, err := s.clock()
		require.NoError(t, err)
		now := before
		for now.Equal(before) { // a file that changes in this moment counts as changed
			now, err = s.clock()
			require.NoError(t, err)
		}
		require.NoError(t, s.note("cmd/x", []string{folder, file}, now))
		_, fresh := s.fresh("cmd/x")
		require.False(t, fresh, "there is no program")
		require.NoError(t, os.WriteFile(s.program("cmd/x"), nil, 0o700))
		require.NoError(t, change(folder, file), name)
		files, fresh := s.fresh("cmd/x")
		assert.Equal(t, name == "nothing", fresh, name)
		assert.Equal(t, fresh, len(files) == 2, name)
		_, fresh = s.fresh("examples/x")
		assert.False(t, fresh, "that is another program")
	}
}

// TestSources: go test logs what a test opens, to compare it the next time. That is how it knows what a program consists of.
func TestSources(t *testing.T) {
	if os.Getenv("GO_TEST_SOURCES") != "" {
		require.NoError(t, Sources("cmd/bmi"))
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "log")
	again := exec.Command(self, "-test.run=^TestSources$", "-test.testlogfile="+log)
	again.Env = append(os.Environ(), "GO_TEST_SOURCES=1")
	out, err := again.CombinedOutput()
	require.NoError(t, err, string(out))
	opened, err := os.ReadFile(log)
	require.NoError(t, err)
	top, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, input := range []string{"go.mod", "cmd/bmi", "bmi", "internal/watch/page/static", "internal/watch/page/static/page.html"} {
		assert.True(t, strings.Contains(string(opened), "open "+filepath.Join(top, input)+"\n"), input)
	}
	require.ErrorContains(t, Sources("cmd/nothing"), "cmd/nothing")
}

func TestNoSuchProgram(t *testing.T) {
	require.ErrorContains(t, Build(t.TempDir(), "cmd/nothing"), "cmd/nothing")
}

func TestNoCache(t *testing.T) {
	t.Setenv("GOCACHE", "off")
	require.ErrorContains(t, Build(t.TempDir(), "cmd/mpiexec"), "set GOCACHE or HOME")
}

// TestForget: the programs of a clone that is gone do not stay for ever.
func TestForget(t *testing.T) {
	stores := t.TempDir()
	for _, name := range []string{"old", "new"} {
		require.NoError(t, os.Mkdir(filepath.Join(stores, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(stores, name, "mpiexec"), nil, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(stores, name+".lock"), nil, 0o600))
	}
	now := time.Now()
	require.NoError(t, os.Chtimes(filepath.Join(stores, "old.lock"), now, now.Add(-time.Hour)))
	forget(stores, now.Add(-time.Minute))
	left, err := filepath.Glob(filepath.Join(stores, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(stores, "new"), filepath.Join(stores, "new.lock")}, left)
}

func TestCopiesAcrossFileSystems(t *testing.T) {
	const memory = "/dev/shm"
	dir, err := os.MkdirTemp(memory, "programs-")
	if err != nil {
		t.Skipf("no other file system: %v", err)
	}
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	from := filepath.Join(t.TempDir(), "from")
	require.NoError(t, os.WriteFile(from, []byte("program"), 0o755))
	require.NoError(t, link(from, filepath.Join(dir, "to")))
	got, err := os.ReadFile(filepath.Join(dir, "to"))
	require.NoError(t, err)
	assert.Equal(t, "program", string(got))
}
