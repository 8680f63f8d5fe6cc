//go:build linux

// Package kernel is the stack of the kernel's TCP sockets.
//
// Sockets are non-blocking and belong to one epoll instance, edge-triggered and
// added once; a small Recv or Send is one system call that the Go scheduler does
// not notice. While nobody sleeps, Go's network poller does not notice arrivals
// either: Sleep parks its goroutine there by a second epoll instance that is
// armed for as long as somebody sleeps.
//
// A file does one thing: kernel.go the Stack, options.go what can be set,
// socket.go how a descriptor is made and kept, listen.go, dial.go and stream.go
// the three kinds of socket, poll.go events, sleep.go sleeping (by
// internal/netpoll), errors.go what an errno means to an owner, syscalls.go the
// system calls that x/sys has in a form that allocates.
//
// What does not live here: the seam (methods/tcp/stack), messages (methods/tcp).
package kernel
