//go:build linux

// Package netpoll lets a goroutine sleep until an epoll instance has events, on
// Go's network poller instead of an OS thread, and so that events cost the runtime
// nothing while nobody sleeps.
//
// It holds the Gate, and the two system calls that its users and it need in a form
// that neither allocates nor tells the scheduler. What is watched, and what an
// event means, is the business of those who use it: methods/tcp/stack/kernel and
// methods/via/nic/udp/dgram/kernel.
package netpoll
