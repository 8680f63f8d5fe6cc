//go:build linux

// Package kernel is the stack of the kernel's TCP sockets.
//
// Sockets are non-blocking and belong to one epoll instance, edge-triggered and
// added once. A small Recv or Send is one system call that the Go scheduler does
// not notice. While no goroutine sleeps, Go's network poller does not notice
// arrivals either: Sleep parks its goroutine there with a second epoll instance
// that is armed only during the sleep.
//
// kernel.go has the Stack, options.go its options, socket.go the descriptors.
// listen.go, dial.go and stream.go have the three kinds of socket, poll.go
// events, sleep.go sleeping (with internal/netpoll), errors.go the meaning of
// errnos, and syscalls.go the system calls whose x/sys versions allocate.
//
// The seam is internal/tcp/stack; messages are in methods/tcp.
package kernel
