//go:build linux

package process

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// DescriptorsMax is the number of descriptors that one Pass takes.
const DescriptorsMax = 8

// A message over the pair is the session's number, little-endian, with the descriptors beside it
// (SCM_RIGHTS).
const passBytes = 8

// passTimeout is how long Pass waits for a plugin that does not read.
const passTimeout = 5 * time.Second

// socketPair returns this process's end and the plugin's. SOCK_SEQPACKET keeps messages apart, and
// reports the end of the connection, which a datagram socket would not.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "plugin")
	ours, err := connOf(fds[0])
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// connOf makes a connection from a descriptor, and closes the descriptor.
func connOf(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "socket of a plugin")
	if f == nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, unix.EBADF)
	}
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	if u, ok := c.(*net.UnixConn); ok {
		return u, nil
	}
	_ = c.Close()
	return nil, fmt.Errorf("descriptor %d: not a Unix socket", fd)
}

// Pass passes descriptors for a session to the plugin, which gets them from Inherited.Descriptors
// in this order. The caller's descriptors stay open.
func (p *Process) Pass(session uint64, fds ...int) error {
	if len(fds) == 0 || len(fds) > DescriptorsMax {
		return fmt.Errorf("internal/plugins/process: %d descriptors for plugin %s: 1 to %d can be passed", len(fds), p.cfg.Name, DescriptorsMax)
	}
	select {
	case <-p.Done():
		return fmt.Errorf("internal/plugins/process: %w: %w", ErrEnded, p.Err())
	default:
	}
	p.passing.Lock()
	defer p.passing.Unlock()
	if err := p.socket.SetWriteDeadline(time.Now().Add(passTimeout)); err != nil {
		return fmt.Errorf("internal/plugins/process: %w: descriptors for plugin %s: %w", ErrEnded, p.cfg.Name, err)
	}
	message := binary.LittleEndian.AppendUint64(nil, session)
	if _, _, err := p.socket.WriteMsgUnix(message, unix.UnixRights(fds...), nil); err != nil {
		return fmt.Errorf("internal/plugins/process: descriptors for plugin %s: %w", p.cfg.Name, err)
	}
	return nil
}
