//go:build linux

package process

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// sessionsMax limits the sessions whose descriptors have not been taken. Beyond it, the descriptors
// of the oldest session are closed.
const sessionsMax = 64

// Inherited has the descriptors that the program passed to a plugin, by session.
type Inherited struct {
	socket *net.UnixConn

	mu      sync.Mutex
	waiting []passed      // 0 ≤ len ≤ sessionsMax, in the order of arrival
	news    chan struct{} // closed and replaced when waiting grows
}

type passed struct {
	session uint64
	fds     []int
}

// inherit finds the socket that Start passed to the process; nil if there is none.
func inherit() (*Inherited, error) {
	text := environ.Getenv(SocketKey)
	if text == "" {
		return nil, nil
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd <= 2 {
		return nil, fmt.Errorf("%s=%q names no descriptor", SocketKey, text)
	}
	socket, err := connOf(fd)
	if err != nil {
		return nil, fmt.Errorf("%s=%s: %w", SocketKey, text, err)
	}
	return &Inherited{socket: socket, news: make(chan struct{})}, nil
}

// Descriptors waits for the descriptors that Pass passed for a session. They then belong to the
// caller. They can be taken once. A nil Inherited has none.
func (i *Inherited) Descriptors(ctx context.Context, session uint64) ([]int, error) {
	if i == nil {
		return nil, errors.New("internal/plugins/process: the program passes no descriptors")
	}
	for {
		fds, news := i.take(session)
		if fds != nil {
			return fds, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, fmt.Errorf("internal/plugins/process: no descriptors for session %d came: %w", session, context.Cause(ctx))
		}
	}
}

func (i *Inherited) take(session uint64) ([]int, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for k, p := range i.waiting {
		if p.session == session {
			i.waiting = append(i.waiting[:k], i.waiting[k+1:]...)
			return p.fds, nil
		}
	}
	return nil, i.news
}

// receive returns when the program has ended.
func (i *Inherited) receive() error {
	message, beside := make([]byte, passBytes+1), make([]byte, unix.CmsgSpace(DescriptorsMax*4))
	for {
		n, extra, flags, _, err := i.socket.ReadMsgUnix(message, beside)
		if err != nil {
			return err
		}
		fds := rights(beside[:extra])
		if n != passBytes || len(fds) == 0 || flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) != 0 {
			closeFDs(fds)
			continue
		}
		i.arrived(passed{binary.LittleEndian.Uint64(message), fds})
	}
}

func (i *Inherited) arrived(p passed) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, have := range i.waiting {
		if have.session == p.session {
			closeFDs(p.fds)
			return
		}
	}
	if len(i.waiting) == sessionsMax {
		closeFDs(i.waiting[0].fds)
		i.waiting = append(i.waiting[:0], i.waiting[1:]...)
	}
	i.waiting = append(i.waiting, p)
	close(i.news)
	i.news = make(chan struct{})
}

// rights returns the descriptors beside a message. They are close-on-exec: the runtime asks for
// that when it reads.
func rights(beside []byte) (fds []int) {
	messages, err := unix.ParseSocketControlMessage(beside)
	if err != nil {
		return nil
	}
	for k := range messages {
		if got, err := unix.ParseUnixRights(&messages[k]); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
