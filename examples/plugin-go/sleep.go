package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// watch lists the descriptors that end a sleep: the bell, and every socket at which Poll would find
// something.
func (m *method) watch(fds []unix.PollFd) []unix.PollFd {
	add := func(fd int, events int16) { fds = append(fds, unix.PollFd{Fd: int32(fd), Events: events}) }
	add(m.bell, unix.POLLIN)
	add(m.listener, unix.POLLIN)
	for _, c := range m.fresh {
		if c.name == "" {
			add(c.fd, unix.POLLIN)
		}
	}
	for _, p := range m.peers {
		if p.in >= 0 && p.room() {
			add(p.in, unix.POLLIN)
		}
		if p.out >= 0 && len(p.sends) > 0 {
			add(p.out, unix.POLLOUT)
		} else if p.out >= 0 {
			add(p.out, 0) // its end is always reported
		}
	}
	return fds
}

// Arm implements bmi.Sleeper.
func (m *method) Arm() bool {
	m.armed = true
	m.nap = m.watch(m.nap[:0])
	n, _ := unix.Poll(m.nap[1:], 0)
	return n == 0
}

// Disarm implements bmi.Sleeper.
func (m *method) Disarm() { m.armed = false }

// Sleep implements bmi.Sleeper, without the engine lock: it uses nap, which Arm has set.
func (m *method) Sleep(timeout time.Duration) {
	wait := -1
	if timeout >= 0 {
		wait = int((timeout + time.Millisecond - 1) / time.Millisecond)
	}
	_, _ = unix.Poll(m.nap, wait)
	var count [8]byte
	_, _ = unix.Read(m.bell, count[:]) // clear the bell
}

// Wake implements bmi.Sleeper.
func (m *method) Wake() {
	one := [8]byte{1}
	_, _ = unix.Write(m.bell, one[:])
}

// changed ends a sleep whose list of descriptors is out of date.
func (m *method) changed() {
	if m.armed {
		m.Wake()
	}
}
