//go:build linux

package netpoll

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Gate parks a goroutine on Go's network poller until an epoll instance has
// events. Its methods are as in bmi.Sleeper: Arm, Sleep if Arm reported true,
// then Disarm, by one goroutine at a time; any goroutine may call Wake.
//
// The runtime watches a second epoll instance (the gate), which watches the first
// one only from Arm on: before that, arrivals cost the runtime nothing. The gate
// is one-shot: it reports one event and is then shut, so that Disarm has nothing
// to do after a Sleep that was ended by an event.
//
// Wake ends a Sleep by setting a deadline in the past, without a system call.
type Gate struct {
	epfd, gateFD int
	file         *os.File // the gate, as the runtime sees it
	raw          syscall.RawConn
	check        func(gate uintptr) bool

	// Used by the one goroutine between Arm and Disarm.
	armed bool // the gate is open
	came  bool // an event came through it
	event [1]unix.EpollEvent

	// Used by all goroutines.
	asleep atomic.Bool // a goroutine may need a deadline to wake up
	woken  atomic.Bool // a Wake that no Sleep has consumed yet
	shut   atomic.Bool // by Close
}

// longAgo is a deadline in the past.
var longAgo = time.Unix(1, 0)

// Open makes a gate for an epoll instance, which must outlive it. The Gate must
// not be copied afterwards. Open fails only if the kernel has no descriptor left.
func (g *Gate) Open(epfd int) error {
	gate, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	g.epfd, g.gateFD, g.check = epfd, gate, g.lookThrough
	no := Control(gate, unix.EPOLL_CTL_ADD, epfd, &unix.EpollEvent{Events: unix.EPOLLONESHOT})
	if no == 0 {
		err = unix.SetNonblock(gate, true) // os.NewFile registers only non-blocking files with the poller
	} else {
		err = no
	}
	if err != nil {
		_ = unix.Close(gate)
		return fmt.Errorf("epoll: %w", err)
	}
	g.file = os.NewFile(uintptr(gate), "epoll")
	if err := g.file.SetReadDeadline(time.Time{}); err != nil {
		_ = g.file.Close()
		return fmt.Errorf("the runtime cannot watch an epoll instance: %w", err)
	}
	g.raw, err = g.file.SyscallConn()
	return err
}

// Arm makes later events end Sleep. It reports false if there already are events,
// and once the gate is closed.
func (g *Gate) Arm() bool {
	if g.shut.Load() {
		return false
	}
	g.came = false
	g.set(unix.EPOLLIN | unix.EPOLLONESHOT)
	g.armed = true
	return !g.look()
}

// Disarm undoes Arm.
func (g *Gate) Disarm() {
	if g.armed && !g.shut.Load() {
		g.set(0)
		g.armed = false
	}
}

// set opens or shuts the gate. If there are events already, opening it is an
// edge for the runtime.
func (g *Gate) set(events uint32) {
	Control(g.gateFD, unix.EPOLL_CTL_MOD, g.epfd, &unix.EpollEvent{Events: events})
}

// look reports whether there are events, without taking them, and shuts the gate
// if there are.
func (g *Gate) look() bool {
	if g.armed && Events(g.gateFD, g.event[:]) > 0 {
		g.armed, g.came = false, true
	}
	return g.came
}

// lookThrough is look for the runtime's poller: true ends Sleep.
func (g *Gate) lookThrough(uintptr) bool { return g.woken.Load() || g.look() }

// Sleep returns on an event, a Wake, Close, or when timeout (< 0: never) passes.
func (g *Gate) Sleep(timeout time.Duration) {
	if timeout == 0 || g.woken.Load() {
		g.woken.Swap(false)
		return
	}
	var until time.Time // never
	if timeout > 0 {
		until = time.Now().Add(timeout)
	}
	g.asleep.Store(true)
	g.park(until)
	g.asleep.Store(false)
	// Swap, not Store: the waker's actions before Wake must happen before this.
	g.woken.Swap(false)
}

// park returns when there are events, after a Wake, or at the deadline.
func (g *Gate) park(until time.Time) {
	for !g.shut.Load() {
		if g.file.SetReadDeadline(until) != nil {
			return // closed
		}
		// Wake sets woken before the deadline: either we see it here, or its
		// deadline comes after ours.
		err := g.raw.Read(g.check)
		if err == nil || g.woken.Load() || (!until.IsZero() && !time.Now().Before(until)) {
			return
		}
		// The deadline was set by a Wake that an earlier Sleep consumed.
	}
}

// Wake ends the current Sleep, or the next one if none is running. Any goroutine
// may call it, even after Close.
func (g *Gate) Wake() {
	if g.woken.Load() || g.woken.Swap(true) {
		return
	}
	if g.asleep.Load() {
		_ = g.file.SetReadDeadline(longAgo)
	}
}

// Close ends a Sleep, and returns when no goroutine uses the descriptors any
// more.
func (g *Gate) Close() {
	g.shut.Store(true)
	_ = g.file.Close()
}
