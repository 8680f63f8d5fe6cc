//go:build linux

package kernel

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/netpoll"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// A Stack owns sockets and the epoll instance that watches them.
type Stack struct {
	options Options
	epfd    int // -1 once closed
	open    list
	gate    netpoll.Gate // sleeping

	// hangups counts the events that reported the end of any stream's input; see
	// Stream.Recv.
	hangups uint64

	// Scratch memory of one call.
	events   [eventBatch]unix.EpollEvent
	pieces   [stack.PiecesMax]unix.Iovec
	header   unix.Msghdr
	accepted unix.RawSockaddrInet6
	copied   []byte // of a file; see sendCopy
}

var (
	_ stack.Stack      = (*Stack)(nil)
	_ stack.Sleeper    = (*Stack)(nil)
	_ stack.FileSender = (*Stack)(nil)
	_ stack.Limited    = (*Stack)(nil)
	_ stack.Listener   = (*listener)(nil)
	_ stack.Stream     = (*stream)(nil)
)

// Open makes a stack without sockets.
func Open(options Options) (*Stack, error) {
	options, err := options.filled()
	if err != nil {
		return nil, err
	}
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("kernel: epoll: %w", err)
	}
	s := &Stack{options: options, epfd: epfd}
	if err := s.gate.Open(epfd); err != nil {
		_ = unix.Close(epfd)
		return nil, fmt.Errorf("kernel: %w", err)
	}
	return s, nil
}

// Name implements stack.Stack.
func (s *Stack) Name() string { return "kernel sockets" }

// Close implements stack.Stack. It ends a running Sleep.
func (s *Stack) Close() error {
	if s.epfd < 0 {
		return nil
	}
	s.gate.Close()
	for s.open.first != nil {
		s.forget(s.open.first)
	}
	err := unix.Close(s.epfd)
	s.epfd = -1
	return err
}
