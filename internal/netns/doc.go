// Package netns makes a few hosts out of one machine, for tests that need real
// links between real kernels' network stacks: network namespaces, joined by a wire,
// a switch or a router.
//
// A namespace belongs to a thread of this process, and has no name. When the
// test ends, however it ends, the thread is gone and the kernel takes away the
// namespace with its devices; nothing is left behind even by a panic or a kill.
//
// net.go makes the hosts and joins them, host.go is what a test does with one,
// keeper.go is the thread. Loss, delay and the like come from internal/relay.
package netns
