package web

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Suffix ends the names of sockets in a folder: HOST-PID.sock.
const Suffix = ".sock"

// ownName makes a folder usable, and returns the path of this process's socket in it.
func ownName(folder string) (string, error) {
	host, err := os.Hostname()
	if err != nil || host == "" || strings.ContainsRune(host, '/') {
		host = "localhost"
	}
	if err := CheckFolder(folder, true); err != nil {
		return "", err
	}
	if err := sweep(folder, host, time.Now()); err != nil {
		return "", err
	}
	return filepath.Join(folder, host+"-"+strconv.Itoa(os.Getpid())+Suffix), nil
}

// CheckFolder fails unless a folder belongs to this user, and nobody else can enter it. It makes a
// missing one if it may.
func CheckFolder(folder string, mayMake bool) error {
	if mayMake {
		if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	st, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no folder, take the path of one", folder)
	case st == nil || int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user, take a folder of your own", folder)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %04o, and other users could enter it: chmod 700 %s", folder, info.Mode().Perm(), folder)
	}
	return nil
}

// sweptFile has the time of the last sweep as its time of modification.
const sweptFile = ".swept"

// sweepEvery is the shortest time between two sweeps, so that the processes of a large job do not each
// look at the sockets of all others.
const sweepEvery = time.Second

// sweep removes sockets of this host's processes that have ended without doing so.
func sweep(folder, host string, now time.Time) error {
	mark := filepath.Join(folder, sweptFile)
	if info, err := os.Lstat(mark); err == nil && now.Sub(info.ModTime()).Abs() < sweepEvery {
		return nil
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return err
	}
	if err := os.Chtimes(mark, now, now); err != nil {
		return err
	}
	all, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range all {
		pid, ok := PIDOf(e.Name(), host)
		if ok && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && stale(filepath.Join(folder, e.Name())) {
			_ = os.Remove(filepath.Join(folder, e.Name())) // another process may do the same
		}
	}
	return nil
}

// PIDOf reads the process from the name of a socket; ok is false for names of other hosts or of anything
// else.
func PIDOf(name, host string) (pid int, ok bool) {
	name, isSocket := strings.CutSuffix(name, Suffix)
	digits, isHost := strings.CutPrefix(name, host+"-")
	pid, err := strconv.Atoi(digits)
	return pid, isSocket && isHost && err == nil && pid > 0
}
