package tcp

import (
	"cmp"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/machine"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/secure"
)

// Options are the method's own options, for bmi.Config.Options. The zero value
// means the defaults.
type Options struct {
	// ConnectTimeout is how long sends wait for a connection, including name look-up. The default is the constant of
	// that name; the same holds for the next three fields.
	ConnectTimeout time.Duration `about:"how long sends wait for a connection, with name look-up"`
	HeaderTimeout  time.Duration `about:"how long a header may stay incomplete"`
	MessageTimeout time.Duration `about:"how long a message in a buffer of the method may stay incomplete"`
	HangupTimeout  time.Duration `about:"how long to keep a connection that the other side has closed while its next message waits for a receive"`
	// RetryAbsent: an address without a listener is not a failure until ConnectTimeout. For jobs whose processes start
	// together.
	RetryAbsent bool `about:"keep trying to connect to an address where nobody listens yet"`

	// KeepAlive is the time after which a silent connection is probed, and the time between probes. UserTimeout is the
	// time after which a connection is given up if the other side acknowledges nothing, neither data nor probes. 0: the
	// defaults of package kernel, which notice a dead peer after about 20 seconds.
	KeepAlive   time.Duration `about:"time after which a silent connection is probed, and between probes; 0: a few seconds"`
	UserTimeout time.Duration `about:"time after which a connection is given up if the other side acknowledges nothing; 0: about 20 s"`

	// EarlyBytesPerPeer, EarlyBytes and Connections are limits. The defaults are the constants EarlyBytesPerPeer,
	// EarlyBytes (or 1/16 of the memory, if that is less) and ConnectionsMax. An eighth of the process's descriptors,
	// and 64, are always left for other uses. At the limit of connections, a host with fewer connections than another
	// takes the place of one of the other's.
	EarlyBytesPerPeer int `about:"most bytes of early messages kept of one peer"`
	EarlyBytes        int `about:"most bytes of early messages kept of all peers"`
	Connections       int `about:"most connections accepted"`

	// SocketBytes is the size of the kernel's buffers, per connection and direction; 0: chosen by the kernel.
	SocketBytes int `about:"size of the kernel's buffers, per connection and direction; 0: chosen by the kernel"`

	// TLS names the files for authentication. It is only for tcps, where a zero TLS means the files named by the
	// environment.
	TLS TLS `about:"files for authentication"`

	// Idle is called by Close when there is nothing to do, with the time that is left. Nil means to sleep. In simulation
	// it advances virtual time; the context of Close, which knows only real time, is then ignored.
	Idle func(left time.Duration) `about:"-"`
	// Seed makes the method deterministic in simulation; 0: random.
	Seed uint64 `about:"-"`
}

// TLS names files: either Cert, Key and CA, or Secret.
type TLS = secure.Files

// options checks the options given to a driver.
func options(o any) (Options, error) {
	opts, err := bmi.OptionsOf[Options](o)
	err = cmp.Or(err,
		limit("ConnectTimeout", &opts.ConnectTimeout, ConnectTimeout),
		limit("HeaderTimeout", &opts.HeaderTimeout, HeaderTimeout),
		limit("MessageTimeout", &opts.MessageTimeout, MessageTimeout),
		limit("HangupTimeout", &opts.HangupTimeout, HangupTimeout),
		limit("KeepAlive", &opts.KeepAlive, 0),
		limit("UserTimeout", &opts.UserTimeout, 0),
		limit("EarlyBytesPerPeer", &opts.EarlyBytesPerPeer, EarlyBytesPerPeer),
		limit("EarlyBytes", &opts.EarlyBytes, machine.Share(earlyParts, earlyBytesMin, EarlyBytes)),
		limit("Connections", &opts.Connections, ConnectionsMax),
		limit("SocketBytes", &opts.SocketBytes, 0),
	)
	return opts, err
}

// limit checks an option, and replaces 0 by its default.
func limit[T int | time.Duration](name string, have *T, def T) error {
	if *have < 0 {
		return fmt.Errorf("%w: %s is %v, want at least 0 (0: the default)", bmi.ErrInvalid, name, *have)
	}
	*have = cmp.Or(*have, def)
	return nil
}
