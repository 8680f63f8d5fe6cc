package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

const modulePath = "github.com/viaduct-hpc/viaduct"

// A treeFile is a file of the tree that goes into the module.
type treeFile struct{ name string }

func (f treeFile) Path() string                 { return f.name }
func (f treeFile) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(root, f.name)) }
func (f treeFile) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(root, f.name)) }

// serveModule makes a folder that is a module proxy with this tree as the version.
func serveModule(t *testing.T, version string) (proxy, archive string) {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z")
	cmd.Dir = root
	names, err := output(cmd)
	require.NoError(t, err)
	var files []modzip.File
	for name := range strings.SplitSeq(strings.TrimRight(names, "\x00"), "\x00") {
		if !strings.HasPrefix(name, "tools/dist/") { // a module of its own
			files = append(files, treeFile{name})
		}
	}
	proxy = t.TempDir()
	dir := filepath.Join(proxy, modulePath, "@v")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	archive = filepath.Join(dir, version+".zip")
	require.NoError(t, create(archive, func(w io.Writer) error {
		return modzip.Create(w, module.Version{Path: modulePath, Version: version}, files)
	}))
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, version+".mod"), mod, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, version+".info"), fmt.Appendf(nil, `{"Version":%q}`, version), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "list"), []byte(version+"\n"), 0o644))
	parsed, err := modfile.Parse("go.mod", mod, nil)
	require.NoError(t, err)
	require.Empty(t, parsed.Replace, "go install refuses a module that replaces others")
	require.Empty(t, parsed.Exclude)
	return proxy, archive
}

// TestGoInstall installs commands from a module proxy, as go install MODULE/cmd/bmi@v… does.
func TestGoInstall(t *testing.T) {
	const version = "v0.3.1-rc.1"
	proxy, _ := serveModule(t, version)
	cache, err := output(exec.Command("go", "env", "GOMODCACHE"))
	require.NoError(t, err)
	command := "bmi"
	if testing.Short() {
		command = "mpiexec" // it has the fewest dependencies
	}
	bin := t.TempDir()
	cmd := exec.Command("go", "install", "-trimpath", modulePath+"/cmd/"+command+"@"+version)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+bin, "GOWORK=off", "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+t.TempDir(),
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(strings.TrimSpace(cache), "cache", "download"))
	_, err = output(cmd)
	require.NoError(t, err)
	assert.Contains(t, run(t, filepath.Join(bin, command), "--version"), command+" "+version+" ")
}

// TestTheModuleIsComplete: profiles and embedded files are in the module's archive.
func TestTheModuleIsComplete(t *testing.T) {
	_, archive := serveModule(t, "v0.3.1")
	z, err := zip.OpenReader(archive)
	require.NoError(t, err)
	defer func() { require.NoError(t, z.Close()) }()
	var names []string
	for _, f := range z.File {
		names = append(names, strings.TrimPrefix(f.Name, modulePath+"@v0.3.1/"))
	}
	want := []string{"cmd/bmi/default.pgo", "cmd/mpibench/default.pgo", "LICENSE"}
	list := exec.Command("go", "list", "-json=Dir,EmbedFiles", "./...")
	list.Dir = root
	text, err := output(list)
	require.NoError(t, err)
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	for in := json.NewDecoder(strings.NewReader(text)); ; {
		var p struct {
			Dir        string
			EmbedFiles []string
		}
		err := in.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		for _, name := range p.EmbedFiles {
			rel, err := filepath.Rel(top, filepath.Join(p.Dir, name))
			require.NoError(t, err)
			want = append(want, rel)
		}
	}
	require.Greater(t, len(want), 3, "some files are embedded")
	for _, name := range want {
		assert.True(t, slices.Contains(names, name), name)
	}
	assert.False(t, slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "tools/dist/") }))
}
