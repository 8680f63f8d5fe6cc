package programs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// keep is how long a store is kept after the last test that used it.
const keep = 3 * 24 * time.Hour

// A store is the folder with the programs built from one source tree in one environment. Its lock belongs to one
// process at a time, because go build must not replace a file that another process links.
type store struct {
	folder string
	lock   *os.File
}

func openStore() (*store, error) {
	environment, err := run("env", "GOCACHE", "GOMOD", "GOVERSION", "GOFLAGS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT")
	if err != nil {
		return nil, err
	}
	cache, _, _ := strings.Cut(environment, "\n")
	if !filepath.IsAbs(cache) {
		return nil, errors.New("go has no build cache: set GOCACHE or HOME")
	}
	tree := sha256.Sum256([]byte(environment))
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

// program is the file with the program of a package. Beside it is a file with the package and its sources, a line
// each. Its time is the moment before go looked at them.
func (s *store) program(p string) string { return filepath.Join(s.folder, path.Base(p)) }

const sourcesSuffix = ".sources"

// build builds the programs whose sources have changed. go build would find out as well, in a second for each
// package that tests with programs. The sources of all become inputs of the test.
func (s *store) build(packages []string) error {
	var changed []string
	for _, p := range packages {
		if files, fresh := s.fresh(p); !fresh {
			changed = append(changed, p)
		} else if err := open(files); err != nil {
			return err
		}
	}
	if changed == nil {
		return nil
	}
	now, err := s.clock()
	if err != nil {
		return err
	}
	if _, err := run(append([]string{"build", "-pgo=off", "-o", s.folder + "/"}, paths(changed)...)...); err != nil {
		return err
	}
	for _, p := range changed {
		files, err := sources(p)
		if err == nil {
			err = open(files)
		}
		if err == nil {
			err = s.note(p, files, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clock is the time that a file gets which is made now: the clock of file systems is behind others.
func (s *store) clock() (time.Time, error) {
	f, err := os.CreateTemp(s.folder, "now-")
	if err != nil {
		return time.Time{}, fmt.Errorf("programs: %w", err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return time.Time{}, fmt.Errorf("programs: %w", err)
	}
	return info.ModTime(), nil
}

// note keeps the sources of a program, with the moment when it was built.
func (s *store) note(p string, files []string, built time.Time) error {
	name := s.program(p) + sourcesSuffix
	err := os.WriteFile(name, []byte(p+"\n"+strings.Join(files, "\n")), 0o600)
	if err == nil {
		err = os.Chtimes(name, built, built)
	}
	if err != nil {
		return fmt.Errorf("programs: %w", err)
	}
	return nil
}

// fresh returns the sources of a program, if none of them has changed since it was built.
func (s *store) fresh(p string) (files []string, fresh bool) {
	name := s.program(p) + sourcesSuffix
	info, err := os.Stat(name)
	if err != nil {
		return nil, false
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	if _, err := os.Stat(s.program(p)); err != nil {
		return nil, false
	}
	of, lines, _ := strings.Cut(string(text), "\n")
	if of != p { // the last part of its path is the same
		return nil, false
	}
	files = strings.Split(lines, "\n")
	for _, file := range files {
		if changedSince(file, info.ModTime()) {
			return nil, false
		}
	}
	return files, true
}

// changedSince tells whether a file, or a folder or a file in it, has changed since a moment, or in it, or is
// gone. It looks at the time that programs cannot set.
func changedSince(name string, moment time.Time) bool {
	var st unix.Stat_t
	if unix.Stat(name, &st) != nil || !time.Unix(st.Ctim.Unix()).Before(moment) {
		return true
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false
	}
	entries, err := os.ReadDir(name)
	return err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return !e.IsDir() && changedSince(filepath.Join(name, e.Name()), moment)
	})
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
