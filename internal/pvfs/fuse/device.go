package fuse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const device = "/dev/fuse"

// ErrUnavailable: this machine, or this user, cannot mount.
var ErrUnavailable = errors.New("FUSE cannot be used")

// Available returns nil if New may work: the kernel's device exists, and so does the right or the program to mount. Otherwise the
// error is ErrUnavailable and says what is missing.
func Available() error {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		return fmt.Errorf("%w: %s is missing; load the kernel's module (modprobe fuse), or give the container the device", ErrUnavailable, device)
	case err != nil:
		return fmt.Errorf("%w: %w; the container or its user may not use the device", ErrUnavailable, err)
	}
	f.Close()
	if os.Geteuid() == 0 {
		return nil
	}
	for _, name := range []string{"fusermount3", "fusermount"} {
		if _, err := exec.LookPath(name); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: fusermount3 is missing, with which users mount; it is in Debian's package fuse3", ErrUnavailable)
}

// keepToOurselves sets close-on-exec on the device. Otherwise the mount would outlive its server while a program that this
// process started has the device open.
func keepToOurselves() {
	names, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return
	}
	for _, name := range names {
		if to, err := os.Readlink(name); err != nil || to != device {
			continue
		}
		if fd, err := strconv.Atoi(filepath.Base(name)); err == nil {
			syscall.CloseOnExec(fd)
		}
	}
}

// readAhead raises the kernel's read-ahead, whose default is too small for a network. Only root may do that.
func readAhead(dir string) error {
	if !direct() {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return err
	}
	name := fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", unix.Major(st.Dev), unix.Minor(st.Dev))
	return os.WriteFile(name, []byte(strconv.Itoa(aheadMax>>10)), 0)
}
