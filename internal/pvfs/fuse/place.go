package fuse

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/moby/sys/mountinfo"
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
	mounts, err := mountinfo.GetMounts(at(dir))
	if err == nil && len(mounts) > 0 {
		return "", fmt.Errorf("internal/pvfs/fuse: a file system of this kind is mounted on %s already; unmount it first (%s): %w", dir, unmountCommand(dir), syscall.EBUSY)
	}
	return dir, nil
}

// at selects mounts of this package on a directory.
func at(dir string) mountinfo.FilterFunc {
	return func(m *mountinfo.Info) (skip, stop bool) { return m.Mountpoint != dir || m.FSType != fsType, false }
}

// Shows reports whether a device (st_dev of stat(2)) is a mount of this package for the file system with this name.
func Shows(dev uint64, name string) bool {
	mounts, err := mountinfo.GetMounts(showing(dev, name))
	return err == nil && len(mounts) > 0
}

// showing selects mounts of this package with a device and the name of a file system.
func showing(dev uint64, name string) mountinfo.FilterFunc {
	return func(m *mountinfo.Info) (skip, stop bool) {
		same := m.Major == int(unix.Major(dev)) && m.Minor == int(unix.Minor(dev))
		return !same || m.FSType != fsType || m.Source != sourceOf(name), false
	}
}

// sourceOf is the mount source in the kernel's list. Mount options are separated by commas.
func sourceOf(name string) string { return strings.ReplaceAll(name, ",", "_") }
