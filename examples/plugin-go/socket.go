package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A packet is a header and the message. The first packet of a connection is only the name of its
// maker.
//
//	offset  bytes
//	     0      1  bmi.Kind: send or send unexpected
//	     1      1  class
//	     2      2  0
//	     4      4  tag, little-endian
const headerBytes = 8

const socketFlags = unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC

// address is where a name is found: not in the file system, so that nothing is left when its owner
// dies.
func address(name string) unix.Sockaddr {
	return &unix.SockaddrUnix{Name: fmt.Sprintf("@viaduct-%s/%d/%s", scheme, os.Getuid(), name)}
}

// listen takes a name and listens on it.
func listen(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, socketFlags, 0)
	if err != nil {
		return -1, fmt.Errorf("%s: socket: %w", scheme, err)
	}
	if err = unix.Bind(fd, address(name)); err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if errors.Is(err, unix.EADDRINUSE) {
		err = fmt.Errorf("%w: %s://%s", bmi.ErrNameTaken, scheme, name)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// dial connects to a name. unix.EAGAIN means that there is no room for another connection now.
func dial(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, socketFlags, 0)
	if err != nil {
		return -1, fmt.Errorf("%s: socket: %w", scheme, err)
	}
	if err = unix.Connect(fd, address(name)); err == nil && !sameUser(fd) {
		err = fmt.Errorf("%w: %s://%s belongs to another user", bmi.ErrRefused, scheme, name)
	}
	if errors.Is(err, unix.ECONNREFUSED) {
		err = fmt.Errorf("%w: %s://%s", bmi.ErrUnreachable, scheme, name)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// sameUser asks the kernel which user is at the other end.
func sameUser(fd int) bool {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return err == nil && int(cred.Uid) == os.Getuid()
}

// write sends one packet, completely or not at all.
func write(fd int, parts [][]byte) error {
	_, err := unix.SendmsgBuffers(fd, parts, nil, nil, unix.MSG_NOSIGNAL)
	return err
}

// header returns the header of a message.
func header(op *bmi.Op) []byte {
	return binary.LittleEndian.AppendUint32([]byte{byte(op.Kind), byte(op.Class), 0, 0}, uint32(op.Tag))
}

// hangUp ends a connection, if there is one. Closing the socket alone would not do: a Sleep that
// polls it keeps it open until it returns, and the peer would not notice before.
func hangUp(fd *int) {
	if *fd >= 0 {
		_ = unix.Shutdown(*fd, unix.SHUT_RDWR)
		_ = unix.Close(*fd)
	}
	*fd = -1
}
