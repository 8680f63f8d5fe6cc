//go:build linux

package kernel

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestWhatAcceptTriesAgain: a security module, or a filter of system calls, refuses
// for ever, so Accept must not wait for the end of such an error.
func TestWhatAcceptTriesAgain(t *testing.T) {
	for no, want := range map[syscall.Errno]bool{
		unix.EINTR: true, unix.ECONNABORTED: true, unix.EHOSTUNREACH: true,
		unix.EPERM: false, unix.EACCES: false, unix.ENOSYS: false, unix.EINVAL: false, unix.EFAULT: false,
	} {
		require.Equal(t, want, passing(no), "%v", no)
	}
}
