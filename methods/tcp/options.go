package tcp

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/machine"
	"github.com/viaduct-hpc/viaduct/methods/tcp/stack/secure"
)

// Options are the method's own options, for bmi.Config.Options. The zero value
// means the defaults.
type Options struct {
	// ConnectTimeout is how long sends wait for a connection, name look-up
	// included; by default the constant of that name, as are the next three.
	ConnectTimeout time.Duration
	HeaderTimeout  time.Duration
	MessageTimeout time.Duration
	HangupTimeout  time.Duration
	// RetryAbsent: that nobody listens at an address is no failure until
	// ConnectTimeout. For jobs whose parts start together.
	RetryAbsent bool

	// KeepAlive is the time after which a silent connection is probed, and
	// that between probes; UserTimeout the time after which a connection is
	// given up that does not acknowledge what was sent, probes included. 0:
	// the defaults of package kernel, with which a dead peer is noticed after
	// about 20 seconds.
	KeepAlive   time.Duration
	UserTimeout time.Duration

	// EarlyBytesPerPeer, EarlyBytes and Connections are limits; by default
	// the constants EarlyBytesPerPeer, EarlyBytes (or 1/16 of the memory, if that is less) and ConnectionsMax. There are
	// never more connections than leave an eighth of the descriptors that the
	// process may have, and 64, for other things. When there are as many as may
	// be, a host with fewer than another gets one of that one's.
	EarlyBytesPerPeer int
	EarlyBytes        int
	Connections       int

	// SocketBytes is the size of the kernel's buffers, per connection and
	// direction; 0: as the kernel thinks best.
	SocketBytes int

	// TLS names the files that prove who is who; only for tcps, where a zero
	// TLS means those that the environment names.
	TLS TLS

	// Idle is called by Close when there is nothing to do, with the time it
	// still has. Nil means to sleep. In simulated time it is what moves the
	// world on; the context of Close, which knows only the time of the clock
	// on the wall, does not count then.
	Idle func(left time.Duration)
	// Seed makes the method repeatable in simulation; 0: random.
	Seed uint64
}

// TLS names files: either Cert, Key and CA, or Secret.
type TLS = secure.Files

// options checks what a driver was given.
func options(o any) (Options, error) {
	var opts Options
	switch o := o.(type) {
	case nil:
	case Options:
		opts = o
	case *Options:
		if o != nil {
			opts = *o
		}
	default:
		return opts, fmt.Errorf("%w: options of type %T, want tcp.Options", bmi.ErrInvalid, o)
	}
	for _, v := range []struct {
		name string
		have *time.Duration
		def  time.Duration
	}{
		{"ConnectTimeout", &opts.ConnectTimeout, ConnectTimeout},
		{"HeaderTimeout", &opts.HeaderTimeout, HeaderTimeout},
		{"MessageTimeout", &opts.MessageTimeout, MessageTimeout},
		{"HangupTimeout", &opts.HangupTimeout, HangupTimeout},
		{"KeepAlive", &opts.KeepAlive, 0},
		{"UserTimeout", &opts.UserTimeout, 0},
	} {
		if *v.have < 0 {
			return opts, fmt.Errorf("%w: %s is %v, want a time of at least 0 (0: the default)", bmi.ErrInvalid, v.name, *v.have)
		}
		if *v.have == 0 {
			*v.have = v.def
		}
	}
	for _, v := range []struct {
		name string
		have *int
		def  int
	}{
		{"EarlyBytesPerPeer", &opts.EarlyBytesPerPeer, EarlyBytesPerPeer},
		{"EarlyBytes", &opts.EarlyBytes, machine.Share(earlyParts, earlyBytesMin, EarlyBytes)},
		{"Connections", &opts.Connections, ConnectionsMax},
		{"SocketBytes", &opts.SocketBytes, 0},
	} {
		if *v.have < 0 {
			return opts, fmt.Errorf("%w: %s is %d, want at least 0 (0: the default)", bmi.ErrInvalid, v.name, *v.have)
		}
		if *v.have == 0 {
			*v.have = v.def
		}
	}
	return opts, nil
}
