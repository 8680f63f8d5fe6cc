//go:build linux

package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Reasons why a file is refused. The error's text names the file or folder and says what to do.
var (
	// ErrMissing: there is no such file.
	ErrMissing = errors.New("no such file")
	// ErrNotAFile: a folder, a device, or anything but a regular file.
	ErrNotAFile = errors.New("not a regular file")
	// ErrNotExecutable: the user may not execute it.
	ErrNotExecutable = errors.New("not executable")
	// ErrOwner: the file, or a folder or link on the way, belongs to another user.
	ErrOwner = errors.New("of another user")
	// ErrWritable: others may write to the file or to a folder on the way.
	ErrWritable = errors.New("writable for others")
)

// linksMax is how many symbolic links the kernel follows.
const linksMax = 40

// Check returns why a file must not be started as a plugin, or nil. It follows links, and checks
// all folders and links on the way. The error begins with the problem; the caller adds that it is
// about a plugin.
func Check(path string) error {
	return user{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}.check(path)
}

// user is the user that starts the plugin.
type user struct{ uid, gid uint32 }

func (u user) check(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	final, st, err := u.walk(absolute)
	if err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return fmt.Errorf("%s: %w but a folder: name a file in it", final, ErrNotAFile)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s: %w", final, ErrNotAFile)
	case st.Mode&0o111 == 0:
		return fmt.Errorf("%s: %w: chmod +x %s", final, ErrNotExecutable, final)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, final, unix.X_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("%s: %w for this user (%w): chmod +x %s, unless its file system is mounted noexec", final, ErrNotExecutable, err, final)
	}
	return nil
}

// walk follows path from the root as the kernel does, checks all folders and links on the way, and
// returns the final file.
func (u user) walk(path string) (final string, _ *unix.Stat_t, err error) {
	at, links := "/", 0
	defer func() {
		if err != nil && links > 0 { // the user may not know the path
			err = fmt.Errorf("following the links of %s: %w", path, err)
		}
	}()
	st, err := u.look(at)
	if err != nil {
		return "", nil, err
	}
	left := strings.Split(path, "/")
	for len(left) > 0 {
		name := left[0]
		left = left[1:]
		if name == "" || name == "." {
			continue
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return "", nil, fmt.Errorf("%s: %w: %s is no folder", path, ErrMissing, at)
		}
		next := filepath.Join(at, name) // ".." of a folder that has no links in its path
		if st, err = u.look(next); err != nil {
			return "", nil, err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			at = next
			continue
		}
		if links++; links > linksMax {
			return "", nil, fmt.Errorf("%s: %w", path, unix.ELOOP)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", nil, err
		}
		left = append(strings.Split(target, "/"), left...)
		if filepath.IsAbs(target) {
			at = "/"
		}
		if st, err = u.look(at); err != nil {
			return "", nil, err
		}
	}
	return at, st, nil
}

// look returns the status of a path, without following links, or an error if it is not trusted.
func (u user) look(path string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	switch err := unix.Lstat(path, &st); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", path, ErrMissing)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &st, u.trusts(path, &st)
}

func (u user) trusts(path string, st *unix.Stat_t) error {
	kind := st.Mode & unix.S_IFMT
	if st.Uid != 0 && st.Uid != u.uid {
		return fmt.Errorf("%s is %w (%d) and could be used to replace the plugin: it must be owned by root or by this user (%d)", path, ErrOwner, st.Uid, u.uid)
	}
	if kind == unix.S_IFLNK || kind == unix.S_IFDIR && st.Mode&unix.S_ISVTX != 0 {
		return nil // the mode of a link means nothing, and in a sticky folder users cannot replace the files of others
	}
	switch {
	case st.Mode&0o002 != 0:
		return fmt.Errorf("%s is %w and could be used to replace the plugin: chmod o-w %s", path, ErrWritable, path)
	case st.Mode&0o020 != 0 && st.Uid != 0 && st.Gid != 0 && st.Gid != u.gid:
		return fmt.Errorf("%s is %w, group %d, which could replace the plugin: chmod g-w %s", path, ErrWritable, st.Gid, path)
	}
	return nil
}
