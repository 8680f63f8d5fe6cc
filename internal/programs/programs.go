// Package programs builds programs of this module for tests that start them. It keeps them in
// go's build cache, so that each program is linked once for all packages that test
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
	"time"

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

// keep is how long a store is kept after the last test that used it.
const keep = 3 * 24 * time.Hour

// A store is the folder with the programs built from one source tree. Its lock belongs to one
// process at a time, because go build must not replace a file that another process links.
type store struct {
	folder string
	lock   *os.File
}

func open() (*store, error) {
	where, err := run("env", "GOCACHE", "GOMOD")
	if err != nil {
		return nil, err
	}
	cache, gomod, _ := strings.Cut(where, "\n")
	if !filepath.IsAbs(cache) {
		return nil, errors.New("go has no build cache: set GOCACHE or HOME")
	}
	tree := sha256.Sum256([]byte(gomod + runtime.Version()))
	folder := filepath.Join(cache, "viaduct", fmt.Sprintf("%x", tree[:8]))
	forget(filepath.Dir(folder), time.Now().Add(-keep))
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
	if err == nil {
		now := time.Now()
		err = os.Chtimes(lock.Name(), now, now)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &store{folder, lock}, nil
}

// forget removes the stores of trees with which nobody has tested since a time.
func forget(stores string, since time.Time) {
	locks, _ := filepath.Glob(filepath.Join(stores, "*.lock")) // the pattern is right
	for _, lock := range locks {
		if info, err := os.Stat(lock); err == nil && info.ModTime().Before(since) {
			// Another process may do the same. What cannot be removed is there the next time.
			_ = os.RemoveAll(strings.TrimSuffix(lock, ".lock"))
			_ = os.Remove(lock)
		}
	}
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
