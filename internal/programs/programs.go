// Package programs builds programs of this module for tests that start them. It keeps them in a
// folder below the user's cache, so that each program is linked once for all packages that test
// with it, and again when its sources have changed.
package programs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// module is the path of this module.
const module = "github.com/viaduct-hpc/viaduct/"

// Build puts programs into a folder. packages are their package paths relative to the root of
// the module, such as "cmd/mpiexec". They are built without cgo, as for a release, but without
// profile-guided optimisation, which would compile all dependencies again for each of them. The
// current folder must be within the module.
func Build(into string, packages ...string) error {
	store, err := open()
	if err != nil {
		return fmt.Errorf("programs: %w", err)
	}
	defer store.close()
	if _, err := Go(packages, append([]string{"build", "-pgo=off", "-o", store.folder + "/"}, paths(packages)...)...); err != nil {
		return err
	}
	for _, p := range packages {
		name := path.Base(p)
		if err := link(filepath.Join(store.folder, name), filepath.Join(into, name)); err != nil {
			return fmt.Errorf("programs: %w", err)
		}
	}
	return nil
}

// Go runs the go command, without cgo. packages are those that it compiles or looks at, relative to the root of
// the module: their sources are inputs of the test, as [Sources] says.
func Go(packages []string, args ...string) (out string, err error) {
	if err := Sources(packages...); err != nil {
		return "", err
	}
	return run(args...)
}

// Sources makes the sources of packages, and of what they import from this module, inputs of the test that
// runs: when they have changed, go test runs it again and does not take its result from the cache. "..." are
// all packages.
func Sources(packages ...string) error {
	const inputs = `{{if and .Module .Module.Main}}{{.Module.GoMod}}{{"\n"}}{{.Dir}}{{range .EmbedFiles}}{{"\n"}}{{$.Dir}}/{{.}}{{end}}{{end}}`
	out, err := run(append([]string{"list", "-deps", "-f", inputs}, paths(packages)...)...)
	if err != nil {
		return err
	}
	files := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		// go test compares the sizes and times of files that a test opens, and of those in a folder.
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("programs: %w", err)
		}
		_ = f.Close() // it was not even read
	}
	return nil
}

// paths are the import paths of packages.
func paths(packages []string) (all []string) {
	for _, p := range packages {
		all = append(all, module+p)
	}
	return all
}

func run(args ...string) (out string, err error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("programs: %v: %w\n%s", cmd, err, stderr.String())
	}
	return stdout.String(), nil
}

// A store is the folder with the programs built from one source tree. Its lock belongs to one
// process at a time, because go build must not replace a file that another process links.
type store struct {
	folder string
	lock   *os.File
}

func open() (*store, error) {
	gomod, err := run("env", "GOMOD")
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	tree := sha256.Sum256([]byte(gomod + runtime.Version()))
	folder := filepath.Join(cache, "viaduct-tests", fmt.Sprintf("%x", tree[:8]))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(folder+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &store{folder, lock}, nil
}

// close releases the lock.
func (s *store) close() { _ = s.lock.Close() } // nothing was written to it

// link gives a program a second name, or copies it if that is on another file system.
func link(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err := os.Link(from, to)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
