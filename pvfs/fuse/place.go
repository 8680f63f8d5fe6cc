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

// fsType is the type of our mounts, as the kernel lists them.
const fsType = "fuse.pvfs"

// direct tells whether we mount ourselves, or by fusermount3.
func direct() bool { return os.Geteuid() == 0 }

// unmountCommand is what unmounts a directory.
func unmountCommand(dir string) string {
	if direct() {
		return "umount " + dir
	}
	return "fusermount3 -u " + dir
}

// suitable is the path of a directory that can be mounted on.
func suitable(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		return "", fmt.Errorf("pvfs/fuse: something is mounted on %s whose process has ended; unmount it first (%s): %w", dir, unmountCommand(dir), err)
	case err != nil:
		return "", fmt.Errorf("pvfs/fuse: the directory to mount on: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("pvfs/fuse: %s is not a directory", dir)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err == nil && mounted(string(mounts), dir) {
		return "", fmt.Errorf("pvfs/fuse: a file system of this kind is mounted on %s already; unmount it first (%s): %w", dir, unmountCommand(dir), syscall.EBUSY)
	}
	return dir, nil
}

// octal writes names as the kernel lists them.
var octal = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)

// mounted tells whether the list of the kernel has a mount of ours on a directory.
func mounted(list, dir string) bool {
	escaped := octal.Replace(dir)
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) > 2 && f[1] == escaped && f[2] == fsType {
			return true
		}
	}
	return false
}

// Shows reports whether a device, as stat(2) has it, is a mount of this package that shows a file system of some name.
func Shows(dev uint64, name string) bool {
	list, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && shows(string(list), dev, name)
}

// shows is Shows with the list of the kernel: see proc_pid_mountinfo(5).
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

// sourceOf is how the kernel lists what is mounted. Options of a mount have commas between them.
func sourceOf(name string) string { return strings.ReplaceAll(name, ",", "_") }
