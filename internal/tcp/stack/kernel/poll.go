//go:build linux

package kernel

import (
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/netpoll"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// eventBatch is how many events one system call fetches at most.
const eventBatch = 128

const (
	hangup   = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	readable = unix.EPOLLIN | hangup
	writable = unix.EPOLLOUT | unix.EPOLLHUP | unix.EPOLLERR
)

// Poll implements stack.Stack. Events go from the kernel to the caller without a
// queue in between, so that no event outlives its stream.
func (s *Stack) Poll(events []stack.Event) int {
	room := min(len(events), len(s.events))
	if room == 0 || s.epfd < 0 {
		return 0
	}
	n := netpoll.Events(s.epfd, s.events[:room])
	for i := range s.events[:n] {
		ev := &s.events[i]
		var ready stack.Ready
		if ev.Events&readable != 0 {
			ready |= stack.Readable
		}
		if ev.Events&writable != 0 {
			ready |= stack.Writable
		}
		if ev.Events&hangup != 0 {
			ready |= stack.Hangup
			s.hangups++
		}
		events[i] = stack.Event{Token: token(ev), Ready: ready}
	}
	return n
}

// The kernel keeps 64 bits for the owner of a descriptor; x/sys shows them as two
// halves.

func setToken(ev *unix.EpollEvent, t stack.Token) {
	ev.Fd, ev.Pad = int32(uint32(t)), int32(uint32(t>>32))
}

func token(ev *unix.EpollEvent) stack.Token {
	return stack.Token(uint32(ev.Fd)) | stack.Token(uint32(ev.Pad))<<32
}
