package web

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// listen listens at a place. After the listener is closed, remove deletes the files that it leaves
// behind.
func (w Where) listen() (l net.Listener, remove func(), err error) {
	switch w.network {
	case "unix":
		return listenAt(w.address)
	case "dir":
		name, err := ownName(w.address)
		if err != nil {
			return nil, nil, err
		}
		return listenAt(name)
	}
	for port := w.first; port <= w.last; port++ {
		if l, err = net.Listen("tcp", net.JoinHostPort(w.address, strconv.Itoa(port))); !errors.Is(err, syscall.EADDRINUSE) {
			return l, func() {}, err
		}
	}
	return nil, nil, fmt.Errorf("%w: several processes of one host need a range of ports, or dir:/FOLDER, which gives each a socket of its own", err)
}

// pathBytesMax is the longest path of a socket (unix(7)).
const pathBytesMax = 107

// listenAt listens at a socket that only this user can connect to. A socket left by a process that has
// ended is replaced.
func listenAt(path string) (net.Listener, func(), error) {
	l, err := bind(path)
	if errors.Is(err, os.ErrExist) && stale(path) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, nil, err
		}
		l, err = bind(path)
	}
	if errors.Is(err, os.ErrExist) {
		err = fmt.Errorf("%s: a process listens there, or it is no socket: take another path: %w", path, syscall.EADDRINUSE)
	}
	if err != nil {
		return nil, nil, err
	}
	return named{l, path}, func() { _ = os.Remove(path) }, nil // it may be gone already
}

// A named listener has another address than the socket had when it was made.
type named struct {
	net.Listener
	path string
}

func (n named) Addr() net.Addr { return &net.UnixAddr{Name: n.path, Net: "unix"} }

// bind makes a listening socket with mode 0600, if there is nothing at the path. It makes it in a folder
// that nobody else can enter, because a new socket gets the mode that the process's umask allows.
func bind(path string) (net.Listener, error) {
	within, err := os.MkdirTemp(filepath.Dir(path), ".viaduct")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(within) }() // of no further use
	made := filepath.Join(within, "s")
	if max(len(made), len(path)) > pathBytesMax {
		return nil, fmt.Errorf("%s: path is too long for a socket, take a shorter one", path)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(made, 0o600); err == nil {
		err = os.Link(made, path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// stale tells whether a path is that of a socket at which nobody listens.
func stale(path string) bool {
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close() // nothing was sent
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
