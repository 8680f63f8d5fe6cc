package via

import (
	"cmp"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/ops"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Options are the method's own options, for bmi.Config.Options. The zero value
// means the defaults.
type Options struct {
	// EagerBytes is the largest message that is sent without asking; at most,
	// and by default, ops.EagerBytesMax.
	EagerBytes int `about:"largest message that is sent without asking the receiver, in bytes"`
	// SplitBytes is the size from which both sides move a half each of a
	// large message; by default ops.SplitBytesMin if the NIC gains by it
	// (nic.Caps.RDMACopies), else none is divided.
	SplitBytes int `about:"size from which both sides move a half each of a large message, in bytes; 0: chosen by what the NIC does"`
	// Credits is the number of receives posted for each peer; at least
	// wire.CreditsMin, by default CreditsPerPeer.
	Credits int `about:"receives posted for each peer: messages that it may have under way"`
	// ConnectTimeout is how long sends wait for a connection; by default
	// the constant of that name.
	ConnectTimeout time.Duration `about:"how long sends wait for a connection"`
	// RetryAbsent keeps trying, until ConnectTimeout, to connect to an address
	// where no endpoint listens yet. For jobs whose processes start together.
	RetryAbsent bool `about:"keep trying to connect to an address where no endpoint listens yet"`
	// KeepAlive is how long a peer may be silent before it gets a request for a sign of life. After four times as
	// long it counts as failed. 0: there are no such requests. A NIC that notices the death of a peer does not need
	// it.
	KeepAlive time.Duration `about:"silence after which a peer is asked for a sign of life; 0: never"`
	// Key is the key that all sides share, nic.KeyBytes random bytes, for a NIC that protects
	// what it sends (via+udp). It takes precedence over the environment, which applies if Key
	// is nil.
	Key nic.Key `about:"whether the program gives a key that all sides share"`
	// OtherUsers lets every user of this machine connect, over a NIC that is otherwise for processes of one user
	// (via+shm). A program that sets it must check each peer's user: bmi.Endpoint.LocalUser.
	OtherUsers bool `about:"let every user of this machine connect"`
	// TrustUsers are the users whose endpoints this one connects to over such a NIC, besides its own user and
	// root. If several of them have an endpoint of the same name, the first in the list is chosen.
	TrustUsers []uint32 `about:"whether the program names users whose endpoints this one connects to"`
	// Identity is this endpoint's own static key and those of other endpoints, for a NIC that authenticates by them
	// (via+udp). It takes precedence over the environment, too. With Key, both kinds of keys are used. nil: none.
	Identity *nic.Identity `about:"whether the program gives keys of this endpoint and others"`
	// Idle is called by Close when there is nothing to do, with the time that
	// is left. If it is nil, Close sleeps on the NIC. In a simulation it
	// advances virtual time; the context of Close, which knows only real
	// time, is then ignored.
	Idle func(left time.Duration) `about:"-"`
	// Seed makes session and jitter repeatable in simulation; 0: random.
	Seed uint64 `about:"-"`
	// Version is the protocol version that this side announces; 0:
	// wire.Version. Only tests set it.
	Version uint16 `about:"-"`
}

func options(o any) (Options, error) {
	opts, err := bmi.OptionsOf[Options](o)
	if err != nil {
		return opts, err
	}
	opts.Credits = cmp.Or(opts.Credits, CreditsPerPeer)
	opts.EagerBytes = cmp.Or(opts.EagerBytes, ops.EagerBytesMax)
	opts.ConnectTimeout = cmp.Or(opts.ConnectTimeout, ConnectTimeout)
	opts.Version = cmp.Or(opts.Version, wire.Version)
	switch {
	case opts.Credits < wire.CreditsMin || opts.Credits > wire.CreditsMax:
		return opts, fmt.Errorf("%w: %d credits, want %d to %d", bmi.ErrInvalid, opts.Credits, wire.CreditsMin, wire.CreditsMax)
	case opts.EagerBytes < 0 || opts.EagerBytes > ops.EagerBytesMax:
		return opts, fmt.Errorf("%w: eager messages of %d bytes, the limit is %d", bmi.ErrInvalid, opts.EagerBytes, ops.EagerBytesMax)
	}
	return opts, nil
}

// splitBytes is Options.SplitBytes, or what suits the NIC.
func (o *Options) splitBytes(caps nic.Caps) int {
	switch {
	case o.SplitBytes > 0:
		return o.SplitBytes
	case caps.RDMACopies:
		return ops.SplitBytesMin
	default:
		return ops.ExpectedBytesMax + 1
	}
}
