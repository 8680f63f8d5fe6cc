//go:build linux

// Package netpoll lets a goroutine sleep until an epoll instance has events. The
// goroutine sleeps on Go's network poller instead of an OS thread, and events cost
// the runtime nothing while no goroutine sleeps.
//
// The package has the Gate, and two system calls that neither allocate nor tell
// the scheduler. Its users decide what is watched and what an event means:
// internal/tcp/stack/kernel and internal/nic/udp/dgram/kernel.
package netpoll
