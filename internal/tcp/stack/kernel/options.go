//go:build linux

package kernel

import (
	"fmt"
	"time"
)

// Options configure sockets. Zero values mean the defaults below.
type Options struct {
	// KeepIdle is how long a connection is idle before the kernel probes the other side,
	// KeepInterval the time between probes, and KeepCount how many unanswered probes break
	// the connection. Times are rounded up to seconds.
	KeepIdle, KeepInterval time.Duration
	KeepCount              int

	// UserTimeout is how long sent bytes may go without an acknowledgement,
	// and an attempt to connect without an answer, before the connection
	// breaks (RFC 5482; rounded up to milliseconds).
	UserTimeout time.Duration

	// SendBuffer and RecvBuffer are the sizes of a socket's buffers in
	// bytes; the kernel keeps them within its own limits. 0: they follow
	// the connection's speed and delay, which is best unless memory is scarce.
	SendBuffer, RecvBuffer int

	// PagesOnly: bytes of files are not copied even for peers on this host; see SendFile.
	PagesOnly bool

	// Backlog is the largest number of connections that wait for Accept.
	Backlog int
}

// Defaults. A peer whose machine died is noticed after about 20 s: an idle one after
// keepIdle + keepCount*keepInterval, others after userTimeout.
const (
	keepIdleDefault     = 8 * time.Second
	keepIntervalDefault = 3 * time.Second
	keepCountDefault    = 4
	userTimeoutDefault  = 20 * time.Second
	backlogDefault      = 1024
)

// Limits of the kernel (net/ipv4/tcp.c, MAX_TCP_KEEP*) and of the types that
// carry the options.
const (
	keepSecondsMax = 32767
	keepCountMax   = 127
	bufferBytesMax = 1 << 30
	backlogMax     = 1 << 16
	userTimeoutMax = 24 * time.Hour
)

// filled returns the options with defaults, in the kernel's units.
func (o Options) filled() (Options, error) {
	err := checks(
		check("KeepIdle", &o.KeepIdle, keepIdleDefault, keepSecondsMax*time.Second),
		check("KeepInterval", &o.KeepInterval, keepIntervalDefault, keepSecondsMax*time.Second),
		check("KeepCount", &o.KeepCount, keepCountDefault, keepCountMax),
		check("UserTimeout", &o.UserTimeout, userTimeoutDefault, userTimeoutMax),
		check("SendBuffer", &o.SendBuffer, 0, bufferBytesMax),
		check("RecvBuffer", &o.RecvBuffer, 0, bufferBytesMax),
		check("Backlog", &o.Backlog, backlogDefault, backlogMax),
	)
	return o, err
}

// check fills in a default and checks a value against its limits.
func check[V int | time.Duration](name string, v *V, byDefault, most V) error {
	if *v == 0 {
		*v = byDefault
	}
	if *v < 0 || *v > most {
		return fmt.Errorf("kernel: option %s is %v, must be from 0 to %v", name, *v, most)
	}
	return nil
}

// checks returns the first error.
func checks(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// in returns a time in units, rounded up.
func in(t, unit time.Duration) int { return int((t + unit - 1) / unit) }
