package main

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// root is the folder of the main module.
const root = "../.."

// sample is a release for tests.
var sample = release{version: "v0.3.1-rc.1", commit: strings.Repeat("0123456789", 4), time: time.Date(2026, 11, 26, 17, 25, 35, 0, time.UTC)}

// A made is everything for one processor, made of the programs of this tree.
type made struct {
	bin   string // the programs
	out   string // the results
	files []string
	err   error
}

// madeIn is the folder of what makeAll made.
var madeIn string

var makeAll = sync.OnceValue(func() (m made) {
	if madeIn, m.err = os.MkdirTemp("", "viaduct-dist-test-"); m.err != nil {
		return m
	}
	m.bin, m.out = filepath.Join(madeIn, "bin", runtime.GOARCH), filepath.Join(madeIn, "out")
	// As in other tests: what they have compiled need not be compiled again. The binaries have no version.
	cmd := exec.Command("go", "build", "-pgo=off", "-buildvcs=false", "-o", m.bin+"/", "./cmd/...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if _, m.err = output(cmd); m.err == nil {
		m.files, m.err = pack(context.Background(), sample, root, filepath.Dir(m.bin), []string{runtime.GOARCH}, m.out, &progress{out: io.Discard, now: time.Now})
	}
	return m
})

func TestMain(m *testing.M) {
	code := m.Run()
	if madeIn != "" {
		_ = os.RemoveAll(madeIn)
	}
	os.Exit(code)
}

// all returns what was made.
func all(t *testing.T) made {
	t.Helper()
	m := makeAll()
	require.NoError(t, m.err)
	return m
}

// file is the path of a result.
func (m *made) file(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(m.out, pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

// run runs a command, which must succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
	return string(out)
}

func TestTheListOfProgramsIsComplete(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(root, "cmd"))
	require.NoError(t, err)
	var want, got []string
	for _, e := range entries {
		// The helper for PMIx is in C: it is built where it runs, with the site's libpmix.
		if source, err := filepath.Glob(filepath.Join(root, "cmd", e.Name(), "*.go")); err == nil && len(source) > 0 {
			want = append(want, e.Name())
		}
	}
	for _, p := range programs {
		got = append(got, p.name)
		assert.Equal(t, p.name, p.tree().Name())
	}
	assert.Equal(t, want, got)
}

func TestVersionsOfPackages(t *testing.T) {
	for version, want := range map[string]string{
		"v0.3.0":                               "0.3.0",
		"v0.3.1-rc.1":                          "0.3.1~rc.1",
		"v0.3.1-0.20261126172535-feac98fa1628": "0.3.1~0.20261126172535.feac98fa1628",
		"v1.0.0+dirty":                         "1.0.0+dirty",
	} {
		assert.Equal(t, want, packageVersion(release{version: version}))
	}
}

// tiny makes a small module in a repository, with stand-ins for all programs.
func tiny(t *testing.T, dir string) {
	t.Helper()
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	write("go.mod", "module example.org/tiny\n\ngo 1.26\n")
	write("CHANGELOG.md", "# Changes\n")
	write("LICENSE", "Do as you like.\n")
	for _, p := range programs {
		write("cmd/"+p.name+"/main.go", "package main\n\nfunc main() { println(\""+p.name+"\") }\n")
	}
	commit(t, dir)
}

// commit makes a repository of a folder, with one commit and a tag.
func commit(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "commit", "-qm", "x"},
		{"-c", "tag.gpgsign=false", "tag", "-f", "v0.3.1-rc.1"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-11-26T17:25:35Z", "GIT_COMMITTER_DATE=2026-11-26T17:25:35Z")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "git %v: %s", args, out)
	}
}

// TestTwoBuildsAreAlike: two builds of a commit in different folders have the same bytes.
func TestTwoBuildsAreAlike(t *testing.T) {
	twice(t, tiny)
}

// TestTwoBuildsOfViaductAreAlike is the same for the real programs, which takes minutes.
func TestTwoBuildsOfViaductAreAlike(t *testing.T) {
	need.Soak(t, "it compiles everything for both processors")
	twice(t, func(t *testing.T, dir string) {
		cmd := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z")
		cmd.Dir = root
		names, err := output(cmd)
		require.NoError(t, err)
		for name := range strings.SplitSeq(strings.TrimRight(names, "\x00"), "\x00") {
			body, err := os.ReadFile(filepath.Join(root, name))
			require.NoError(t, err)
			to := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
			require.NoError(t, os.WriteFile(to, body, 0o644))
		}
		commit(t, dir)
	})
}

func twice(t *testing.T, fill func(t *testing.T, dir string)) {
	var outs [2]string
	var names []string
	for i := range outs {
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		repository := filepath.Join(dir, strings.Repeat("deeper/", i), "repository")
		fill(t, repository)
		var log bytes.Buffer
		p := plan{source: repository, out: filepath.Join(dir, "out"), arches: processors, quick: true, log: &log}
		files, err := p.run(t.Context())
		require.NoError(t, err, log.String())
		require.Contains(t, log.String(), "dist: 24 of 24: SHA256SUMS: ")
		outs[i], names = p.out, files
	}
	// One archive, two packages in two formats and two images a processor, two indexes, and the sums.
	require.Len(t, names, 2*(1+4+2)+2+1)
	for _, name := range names {
		if name != "SHA256SUMS" {
			assert.Contains(t, name, "0.3.1", "the version of the tag")
		}
		var bodies [2][]byte
		for i := range outs {
			var err error
			bodies[i], err = os.ReadFile(filepath.Join(outs[i], name))
			require.NoError(t, err)
		}
		assert.True(t, bytes.Equal(bodies[0], bodies[1]), "%s differs", name)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	for _, e := range left {
		assert.NotContains(t, e.Name(), "viaduct-", "left behind")
	}
}

// TestItSaysWhatItMakes: first what it will make, then each step with its time.
func TestItSaysWhatItMakes(t *testing.T) {
	repository, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	tiny(t, repository)
	var log bytes.Buffer
	clock := sample.time
	p := plan{source: repository, out: out, arches: []string{"arm64"}, quick: true, log: &log, now: func() time.Time {
		clock = clock.Add(3 * time.Second)
		return clock
	}}
	files, err := p.run(t.Context())
	require.NoError(t, err)
	require.Len(t, files, 1+4+2+2+1)
	for _, name := range files {
		assert.NotContains(t, name, "amd64")
	}
	assert.Equal(t, `dist: 7 programs for arm64, without profile-guided optimisation
dist: for each processor an archive, 2 packages as deb and rpm, and 2 images; then 2 images for all processors, and SHA256SUMS
dist: 1 of 14: take the commit: 3 s
dist: 2 of 14: compile bmi for arm64: 3 s
dist: 3 of 14: compile bmi-method-tcp for arm64: 3 s
dist: 4 of 14: compile bmi-method-via for arm64: 3 s
dist: 5 of 14: compile mpibench for arm64: 3 s
dist: 6 of 14: compile mpiexec for arm64: 3 s
dist: 7 of 14: compile pvfs for arm64: 3 s
dist: 8 of 14: compile pvfsd for arm64: 3 s
dist: 9 of 14: manual pages, completions and licences: 3 s
dist: 10 of 14: archive for arm64: 3 s
dist: 11 of 14: packages for arm64: 3 s
dist: 12 of 14: images for arm64: 3 s
dist: 13 of 14: images for all processors: 3 s
dist: 14 of 14: SHA256SUMS: 3 s
`, log.String())

	log.Reset()
	require.NoError(t, os.WriteFile(filepath.Join(repository, "cmd/mpiexec/main.go"), []byte("package main\n"), 0o644))
	commit(t, repository)
	_, err = p.run(t.Context())
	require.Error(t, err)
	assert.True(t, strings.HasSuffix(log.String(), "dist: 6 of 14: compile mpiexec for arm64: failed after 3 s\n"), log.String())
}

// TestWrongProcessors are refused before anything is made.
func TestWrongProcessors(t *testing.T) {
	for want, arches := range map[string][]string{
		"--arch arm: Viaduct runs on amd64, arm64": {"amd64", "arm"}, "--arch amd64: it is named twice": {"amd64", "amd64"},
		"--arch: name a processor: amd64, arm64": nil,
	} {
		var log bytes.Buffer
		p := plan{source: t.TempDir(), out: filepath.Join(t.TempDir(), "out"), arches: arches, log: &log}
		_, err := p.run(t.Context())
		require.EqualError(t, err, want)
		require.Empty(t, log.String())
	}
}

// TestABuildWithoutARepository fails, because it has no version.
func TestABuildWithoutARepository(t *testing.T) {
	p := plan{source: t.TempDir(), out: filepath.Join(t.TempDir(), "out"), arches: []string{"amd64"}, log: io.Discard}
	_, err := p.run(t.Context())
	require.Error(t, err)
	require.NoDirExists(t, p.out)
	_, err = stamped(filepath.Join(all(t).bin, "pvfsd"))
	require.ErrorContains(t, err, "has no version of a commit")
	_, err = stamped("go.mod")
	require.Error(t, err)
	_, err = stamped("none")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
