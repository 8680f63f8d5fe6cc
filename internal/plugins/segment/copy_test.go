//go:build linux

package segment

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// copyMost is the longest message of BenchmarkCopy, in bytes.
const copyMost = 1 << 20

// If otherVariable is set, the test binary is a process whose memory another process reads.
const otherVariable = "SEGMENT_TEST_OTHER"

func TestMain(m *testing.M) {
	if os.Getenv(otherVariable) == "" {
		os.Exit(m.Run())
	}
	mem, err := touched()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(uintptr(unsafe.Pointer(&mem[0])))
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with the benchmark
}

// touched returns private memory whose pages have all been written.
func touched() ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, copyMost, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	for i := range mem {
		mem[i] = byte(i)
	}
	return mem, err
}

// another starts a process, which ends with the benchmark, and returns the address of its memory.
func another(b *testing.B) (pid int, address uintptr) {
	b.Helper()
	exe, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), otherVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		require.NoError(b, in.Close())
		require.NoError(b, cmd.Wait())
	})
	_, err = fmt.Fscan(bufio.NewReader(out), &address)
	require.NoError(b, err)
	return cmd.Process.Pid, address
}

// BenchmarkCopy compares the two ways that a message in a program's own memory can take to
// a plugin (docs/internals/decisions/0013): a copy into the arena, by the program, and
// process_vm_readv, by the plugin. Here the one that reads is the parent, which more
// systems allow.
func BenchmarkCopy(b *testing.B) {
	from, err := touched()
	require.NoError(b, err)
	defer func() { require.NoError(b, unix.Munmap(from)) }()
	a, fd, err := CreateArena(copyMost)
	require.NoError(b, err)
	defer func() {
		require.NoError(b, a.Close())
		require.NoError(b, unix.Close(fd))
	}()
	for i := range a.Mem {
		a.Mem[i] = byte(i)
	}
	pid, address := another(b)
	for _, size := range []int{8 << 10, 64 << 10, copyMost} {
		b.Run(fmt.Sprintf("arena/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				copy(a.Mem, from[:size])
			}
		})
		b.Run(fmt.Sprintf("process_vm_readv/%d", size), func(b *testing.B) {
			to := []unix.Iovec{{Base: &from[0]}}
			to[0].SetLen(size)
			there := []unix.RemoteIovec{{Base: address, Len: size}}
			if _, err := unix.ProcessVMReadv(pid, to, there, 0); err != nil {
				b.Skipf("process_vm_readv is not to be had here: %v", err)
			}
			b.SetBytes(int64(size))
			for b.Loop() {
				if n, err := unix.ProcessVMReadv(pid, to, there, 0); n != size {
					b.Fatalf("%d bytes: %v", n, err)
				}
			}
		})
	}
}
