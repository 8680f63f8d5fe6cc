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
	args := []string{"build", "-pgo=off", "-o", store.folder + "/"}
	for _, p := range packages {
		args = append(args, module+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("programs: %v: %w\n%s", cmd, err, out)
	}
	for _, p := range packages {
		name := path.Base(p)
		if err := link(filepath.Join(store.folder, name), filepath.Join(into, name)); err != nil {
			return fmt.Errorf("programs: %w", err)
		}
	}
	return nil
}

// A store is the folder with the programs built from one source tree. Its lock belongs to one
// process at a time, because go build must not replace a file that another process links.
type store struct {
	folder string
	lock   *os.File
}

func open() (*store, error) {
	gomod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	tree := sha256.Sum256(append(gomod, runtime.Version()...))
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
