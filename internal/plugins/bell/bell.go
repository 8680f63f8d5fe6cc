//go:build linux

// Package bell wakes a process that sleeps: an eventfd that two processes share. A side that has
// written a record asks the ring whether the other side sleeps (ring.Writer.Asleep), and rings only
// then.
//
// A wait uses Go's network poller. A thread blocked in a system call would keep its processor until
// the runtime takes it away, for up to 10 ms, and a plugin with several sessions has more waits
// than processors.
package bell

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Bell is an eventfd. Any goroutine may ring it; only one at a time waits for it.
type Bell struct {
	fd   int
	file *os.File // the same descriptor, as the runtime sees it
	raw  syscall.RawConn

	// Used only by the waiting goroutine.
	look    func(uintptr) bool
	count   [8]byte
	failure error // of look
	limited bool  // there is a deadline
}

// New makes a bell. Its descriptor is close-on-exec.
func New() (*Bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("internal/plugins/bell: eventfd: %w", err)
	}
	return of(fd)
}

// Of makes a Bell of a descriptor that came from another process. The descriptor then belongs to
// the Bell; after an error it is closed. An error means that the descriptor does not support
// waiting.
func Of(fd int) (*Bell, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("internal/plugins/bell: descriptor %d: %w", fd, err)
	}
	return of(fd)
}

func of(fd int) (*Bell, error) {
	b := &Bell{fd: fd, file: os.NewFile(uintptr(fd), "bell")}
	err := b.file.SetReadDeadline(time.Time{})
	if err == nil {
		b.raw, err = b.file.SyscallConn()
	}
	if err != nil {
		_ = b.file.Close()
		return nil, fmt.Errorf("internal/plugins/bell: the runtime cannot watch descriptor %d: %w", fd, err)
	}
	b.look = b.take
	return b, nil
}

// FD returns the descriptor, which still belongs to the Bell.
func (b *Bell) FD() int { return b.fd }

// one is the value of a ring. The byte order does not matter, only that it is not 0.
var one = [8]byte{1}

// Ring ends the current Wait, or the next one.
func (b *Bell) Ring() {
	_, _ = unix.Write(b.fd, one[:]) // if the counter is full, it rings already
}

// take consumes the rings. It returns whether there were any, or will never be.
func (b *Bell) take(uintptr) bool {
	n, err := unix.Read(b.fd, b.count[:])
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return false
	case err != nil:
		b.failure = err
	case n == 0:
		b.failure = errors.New("the bell can never ring again")
	}
	return true
}

// Wait returns when the bell rings or after timeout (< 0: never). An error means that the
// descriptor does not work.
func (b *Bell) Wait(timeout time.Duration) error {
	if timeout == 0 {
		b.take(0)
		return b.failed()
	}
	if b.limited || timeout > 0 {
		until := time.Time{}
		if b.limited = timeout > 0; b.limited {
			until = time.Now().Add(timeout)
		}
		if err := b.file.SetReadDeadline(until); err != nil {
			return fmt.Errorf("internal/plugins/bell: %w", err)
		}
	}
	if err := b.raw.Read(b.look); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("internal/plugins/bell: %w", err)
	}
	return b.failed()
}

func (b *Bell) failed() error {
	if b.failure == nil {
		return nil
	}
	return fmt.Errorf("internal/plugins/bell: descriptor %d: %w", b.fd, b.failure)
}

// Close frees the descriptor. The bell must not be rung any more; a Wait ends with an error.
func (b *Bell) Close() error { return b.file.Close() }
