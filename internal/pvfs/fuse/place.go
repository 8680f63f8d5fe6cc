package fuse

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// fsType is the type of our mounts in the kernel's lists.
const fsType = "fuse.pvfs"

// direct reports whether this process mounts itself, and not through fusermount3.
func direct() bool { return os.Geteuid() == 0 }

// unmountCommand is the command that unmounts a directory.
func unmountCommand(dir string) string {
	if direct() {
		return "umount " + dir
	}
	return "fusermount3 -u " + dir
}

// suitable returns the absolute path of a directory that can be mounted on.
func suitable(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		return "", fmt.Errorf("internal/pvfs/fuse: something is mounted on %s whose process has ended; unmount it first (%s): %w", dir, unmountCommand(dir), err)
	case err != nil:
		return "", fmt.Errorf("internal/pvfs/fuse: the directory to mount on: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("internal/pvfs/fuse: %s is not a directory", dir)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err == nil && mounted(string(mounts), dir) {
		return "", fmt.Errorf("internal/pvfs/fuse: a file system of this kind is mounted on %s already; unmount it first (%s): %w", dir, unmountCommand(dir), syscall.EBUSY)
	}
	return dir, nil
}

// octal escapes names as in the kernel's lists.
var octal = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)

// mounted reports whether the kernel's list has a mount of ours on a directory.
func mounted(list, dir string) bool {
	escaped := octal.Replace(dir)
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) > 2 && f[1] == escaped && f[2] == fsType {
			return true
		}
	}
	return false
}

// Shows reports whether a device (st_dev of stat(2)) is a mount of this package for the file system with this name.
func Shows(dev uint64, name string) bool {
	list, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && shows(string(list), dev, name)
}

// shows is Shows for a given list, see proc_pid_mountinfo(5).
func shows(list string, dev uint64, name string) bool {
	number := fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev))
	for line := range strings.Lines(list) {
		place, kind, _ := strings.Cut(line, " - ")
		p, k := strings.Fields(place), strings.Fields(kind)
		if len(p) > 2 && len(k) > 1 && p[2] == number && k[0] == fsType && k[1] == octal.Replace(sourceOf(name)) {
			return true
		}
	}
	return false
}

// sourceOf is the mount source in the kernel's list. Mount options are separated by commas.
func sourceOf(name string) string { return strings.ReplaceAll(name, ",", "_") }
