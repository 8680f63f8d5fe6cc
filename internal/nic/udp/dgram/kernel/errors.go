//go:build linux

package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// errBadAddress: the zero AddrPort, for instance.
var errBadAddress = errors.New("not an IP address with a port")

// openError is the reason why a device or a socket could not be made.
func openError(err error) error {
	for _, known := range []struct {
		what error
		nos  []error
	}{
		{dgram.ErrInUse, []error{unix.EADDRINUSE}},
		{dgram.ErrNotHere, []error{unix.EADDRNOTAVAIL, unix.EAFNOSUPPORT}},
		{dgram.ErrExhausted, []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ENOSPC}},
	} {
		for _, no := range known.nos {
			if errors.Is(err, no) {
				return fmt.Errorf("kernel: %w (%w)", known.what, err)
			}
		}
	}
	return fmt.Errorf("kernel: %w", err)
}
