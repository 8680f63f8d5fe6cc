//go:build linux

// Package kernel is the datagram device of the kernel's UDP sockets.
//
// A single small packet is one sendto or recvfrom that the Go scheduler does not
// notice; many are one sendmmsg or recvmmsg, in which packets of equal size to
// one destination travel as one (UDP_SEGMENT), and arrive so (UDP_GRO).
// Nothing is fragmented on the way. While nobody sleeps, Go's network poller does
// not notice arrivals.
//
// A file does one thing: device.go the Device, options.go what can be set, open.go
// how a socket is made, socket.go what it is until it is closed, send.go, plan.go
// and failed.go sending, recv.go and arrived.go receiving, control.go what goes
// and comes beside a packet, path.go the path MTU, addr.go addresses as the kernel
// writes them, sleep.go sleeping (by internal/netpoll), errors.go what an errno
// means to an owner, syscalls.go the system calls that x/sys has in a form that
// allocates.
//
// What does not live here: the seam (methods/via/nic/udp/dgram), what the bytes mean
// (methods/via/nic/udp/wire).
package kernel
