package shm

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

const (
	helloFDs  = 4 // segment, bell of the server, bell of the client, table of the client
	acceptFDs = 1 // table of the server
)

// sendRecord sends one record with descriptors, and never blocks.
func sendRecord(fd int, b []byte, fds ...int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	for {
		_, err := unix.SendmsgN(fd, b, rights, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// record is one message from a socket.
type record struct {
	data []byte
	fds  []int
	cut  bool // data or descriptors did not fit
	end  bool // the other side has closed
}

// recvRecord takes the next record. ok is false if there is none yet.
func recvRecord(fd int) (r record, ok bool) {
	data := make([]byte, messageMax+1)
	rights := make([]byte, unix.CmsgSpace(4*helloFDs))
	for resets := 0; ; {
		n, rn, flags, _, err := unix.Recvmsg(fd, data, rights, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return r, false
		case errors.Is(err, unix.ECONNRESET) && resets == 0:
			// Reported once, before records that are still queued.
			resets++
			continue
		case err != nil || n == 0 && rn == 0:
			return record{end: true}, true
		}
		r.data = data[:n]
		r.cut = flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 || n > messageMax
		r.fds = parseRights(rights[:rn])
		return r, true
	}
}

func parseRights(b []byte) (fds []int) {
	msgs, err := unix.ParseSocketControlMessage(b)
	if err != nil {
		return nil
	}
	for i := range msgs {
		if got, err := unix.ParseUnixRights(&msgs[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}

func (r *record) closeFDs() {
	for _, fd := range r.fds {
		closeFD(fd)
	}
	r.fds = nil
}

// tokenKind says what an epoll event belongs to.
type tokenKind int32

const (
	tokenListener tokenKind = iota
	tokenWake
	tokenSocket
	tokenBell
	tokenBits = 2
)

// token identifies an event in epoll. It has the generation of the connection's
// entry, so that an event for an earlier connection is recognised.
type token struct {
	kind       tokenKind
	index      int32
	generation int32
}

func (d *Device) watch(fd int, events uint32, t token) error {
	ev := unix.EpollEvent{Events: events, Fd: t.index, Pad: t.generation<<tokenBits | int32(t.kind)}
	if err := unix.EpollCtl(d.epfd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return resourceError("epoll", err)
	}
	return nil
}

func (d *Device) unwatch(fd int) {
	if fd >= 0 {
		_ = unix.EpollCtl(d.epfd, unix.EPOLL_CTL_DEL, fd, nil)
	}
}

func (d *Device) watchSocket(c *conn) error {
	return d.watch(c.sock, unix.EPOLLIN, c.token(tokenSocket))
}

// watchBell is edge-triggered: the counter of the eventfd is never read.
func (d *Device) watchBell(c *conn) error {
	return d.watch(c.bellIn, unix.EPOLLIN|unix.EPOLLET, c.token(tokenBell))
}

func (c *conn) token(kind tokenKind) token {
	return token{kind: kind, index: c.index, generation: c.dev.conns[c.index].generation & (1<<(31-tokenBits) - 1)}
}

// connOf is the connection of an epoll event, or nil.
func (d *Device) connOf(ev *unix.EpollEvent) (*conn, tokenKind) {
	kind := tokenKind(ev.Pad & (1<<tokenBits - 1))
	if kind == tokenListener || kind == tokenWake || int(ev.Fd) >= len(d.conns) {
		return nil, kind
	}
	c := d.conns[ev.Fd].conn
	if c == nil || c.token(kind).generation != ev.Pad>>tokenBits {
		return nil, kind
	}
	return c, kind
}

// errGone is the reason of a failed connect if the socket just closed.
var errGone = fmt.Errorf("shm: the other side closed the connection: %w", nic.ErrPeerDied)
