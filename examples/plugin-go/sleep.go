package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// watch lists what ends a sleep: the bell, and whatever Poll would find something at.
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
			add(p.out, 0) // its end is always told
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

// Sleep implements bmi.Sleeper, without the engine lock: it uses what Arm left in nap.
func (m *method) Sleep(timeout time.Duration) {
	wait := -1
	if timeout >= 0 {
		wait = int((timeout + time.Millisecond - 1) / time.Millisecond)
	}
	_, _ = unix.Poll(m.nap, wait)
	var count [8]byte
	_, _ = unix.Read(m.bell, count[:]) // it rings no more
}

// Wake implements bmi.Sleeper.
func (m *method) Wake() {
	one := [8]byte{1}
	_, _ = unix.Write(m.bell, one[:])
}

// changed ends a sleep whose list is not true any more.
func (m *method) changed() {
	if m.armed {
		m.Wake()
	}
}
