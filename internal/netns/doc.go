// Package netns makes several hosts on one machine, for tests that need real links
// between the network stacks of real kernels: network namespaces, joined by a wire,
// a switch or a router.
//
// A namespace belongs to a thread of this process, and has no name. When the test
// ends, in whatever way, the thread ends and the kernel removes the namespace with
// its devices. Nothing is left behind, even after a panic or a kill.
//
// net.go makes the hosts and joins them, host.go has the operations on a host,
// keeper.go the thread. internal/relay adds loss, delay and the like.
package netns
