// Package emulated runs tests for arm64 on a machine with another processor, by qemu-user: layouts of structures that the
// kernel reads, atomic operations, assembly, and the methods in one process. It has only tests.
//
// Programs that start themselves again do not work there, nor do some options of sockets, so tests of those are left out.
// The order in which another processor sees stores to memory is not tested: the emulator keeps that of this machine.
package emulated
