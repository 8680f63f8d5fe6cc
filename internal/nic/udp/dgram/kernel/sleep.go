//go:build linux

package kernel

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/netpoll"
)

// watchIdle is how many arrivals a socket returns without an Arm in between before it
// is removed from the epoll instance. Being watched costs a tenth of sending and
// receiving a small packet; adding and removing cost as much as two or three of them.
const watchIdle = 32

// watch manages the epoll instance. Sockets are watched only from the first Arm on,
// and not while their owner polls without sleeping. They are level-triggered: Recv
// does not use the epoll instance, which checks the sockets itself when it is asked.
type watch struct {
	epfd  int    // -1 once closed
	armed bool   // between Arm and Disarm: a goroutine may be sleeping
	arms  uint32 // counts Arm
	idle  int    // number of sockets that are not watched
}

// Arm implements dgram.Sleeper.
func (d *Device) Arm() bool {
	d.watch.armed = true
	d.watch.arms++
	if d.watch.idle > 0 && !d.watchAll() {
		return false
	}
	return d.gate.Arm()
}

// Disarm implements dgram.Sleeper.
func (d *Device) Disarm() {
	d.watch.armed = false
	d.gate.Disarm()
}

// Sleep implements dgram.Sleeper.
func (d *Device) Sleep(timeout time.Duration) { d.gate.Sleep(timeout) }

// Wake implements dgram.Sleeper.
func (d *Device) Wake() { d.gate.Wake() }

// watchAll makes every socket watched and reports whether that worked. If the kernel
// is short of memory, the owner must not sleep.
func (d *Device) watchAll() bool {
	for s := d.first; s != nil; s = s.next {
		if !s.watched && s.beWatched() != 0 {
			return false
		}
	}
	return true
}

// events are the events requested for a socket.
func (s *socket) events() unix.EpollEvent {
	e := unix.EpollEvent{Events: unix.EPOLLIN}
	if s.full {
		e.Events |= unix.EPOLLOUT
	}
	return e
}

func (s *socket) beWatched() syscall.Errno {
	e := s.events()
	no := netpoll.Control(s.d.watch.epfd, unix.EPOLL_CTL_ADD, s.fd, &e)
	if no == 0 {
		s.watched = true
		s.d.watch.idle--
	}
	return no
}

func (s *socket) beForgotten() {
	if s.watched {
		netpoll.Control(s.d.watch.epfd, unix.EPOLL_CTL_DEL, s.fd, &unix.EpollEvent{})
		s.watched = false
		s.d.watch.idle++
	}
}

// polled records that the owner took an arrival from a watched socket.
func (s *socket) polled() {
	w := &s.d.watch
	if s.arms != w.arms {
		s.arms, s.polls = w.arms, 0
	}
	if s.polls++; s.polls >= watchIdle && !w.armed {
		s.beForgotten()
	}
}

// setFull sets whether room in the socket ends a Sleep.
func (s *socket) setFull(full bool) {
	if s.full == full {
		return
	}
	s.full = full
	if s.watched {
		e := s.events()
		netpoll.Control(s.d.watch.epfd, unix.EPOLL_CTL_MOD, s.fd, &e)
	}
}
