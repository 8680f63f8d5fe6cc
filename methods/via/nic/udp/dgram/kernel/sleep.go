//go:build linux

package kernel

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/netpoll"
)

// watchIdle is how many arrivals a socket hands out without an Arm in between
// before the epoll instance forgets it. To be watched costs a tenth of
// what it costs to send and receive a small packet, to be added and forgotten as much
// as two or three of them.
const watchIdle = 32

// Sockets are watched only from the first Arm on, and not if their owner has polled
// for long. They are watched by level: Recv does not ask the epoll
// instance, which must find out by itself what was taken, and does so when
// somebody looks.
type watch struct {
	epfd  int    // -1 once closed
	armed bool   // between Arm and Disarm somebody may be asleep
	arms  uint32 // counts Arm
	idle  int    // sockets that are not watched
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

// watchAll tells whether every socket is watched now. The kernel may be short of
// memory, and then nobody may sleep.
func (d *Device) watchAll() bool {
	for s := d.first; s != nil; s = s.next {
		if !s.watched && s.beWatched() != 0 {
			return false
		}
	}
	return true
}

// events is what a socket is watched for.
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

// polled notes that the owner took an arrival of a socket that is watched.
func (s *socket) polled() {
	w := &s.d.watch
	if s.arms != w.arms {
		s.arms, s.polls = w.arms, 0
	}
	if s.polls++; s.polls >= watchIdle && !w.armed {
		s.beForgotten()
	}
}

// setFull says whether room in the socket ends a Sleep.
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
