// Package bmitest is a bmi method in memory for tests, the twin of the seam in
// bmi/method.go. It connects endpoints of one process by name, "mem://NAME", and
// behaves as a real transport does: eager and rendezvous sends, early messages,
// back-pressure, peers that vanish. It is written to be obvious, not fast.
// Importing it registers the method "mem".
//
// The suite that a method must pass is in methods/methodtest. Simulated networks
// that lose and reorder are in internal/nic/sim.
package bmitest

import (
	"context"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Name is the scheme of the method's addresses.
const Name = "mem"

// Options are what a test may change, as bmi.Config.Options[Name]. Zero values
// mean the defaults given behind each field.
type Options struct {
	// Network is the network that the endpoint belongs to; nil is the one shared
	// by all endpoints that name none.
	Network *Network

	MaxExpectedSize   int // bytes; 64 MiB
	MaxUnexpectedSize int // bytes; 64 KiB
	EagerSize         int // bytes; 4 KiB
	MaxPieces         int // 64
	// Credits is how many messages may be under way to a peer before a sender
	// waits; 64.
	Credits int
	// EarlyMessages is how many messages of a peer are kept before their receives
	// are posted; 1024.
	EarlyMessages int

	// NoSleeper hides that the method can be slept on.
	NoSleeper bool
	// NoClasses hides that unexpected messages carry a class.
	NoClasses bool
	// NoFileSends hides that messages are taken from files.
	NoFileSends bool

	// Posted, if it is not nil, is called within each post of a send, when the message is
	// under way. What it does to the network the endpoint notices before the post returns.
	Posted func()
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		v   *int
		def int
	}{
		{&o.MaxExpectedSize, 64 << 20},
		{&o.MaxUnexpectedSize, 64 << 10},
		{&o.EagerSize, 4 << 10},
		{&o.MaxPieces, 64},
		{&o.Credits, 64},
		{&o.EarlyMessages, 1024},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if o.Network == nil {
		o.Network = shared
	}
	return o
}

var shared = NewNetwork()

type driver struct{}

func init() { bmi.Register(driver{}) }

// Name implements bmi.Driver.
func (driver) Name() string { return Name }

// Open implements bmi.Driver.
func (driver) Open(_ context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	o, err := bmi.OptionsOf[Options](cfg.Options)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if len(cfg.Listen) > 1 {
		return nil, fmt.Errorf("%w: %d addresses, an endpoint in memory has one name", bmi.ErrInvalid, len(cfg.Listen))
	}
	m := newMethod(cfg.Host, o)
	for _, address := range cfg.Listen {
		name, err := nameOf(address)
		if err == nil {
			err = o.Network.listen(m.node, name)
		}
		if err != nil {
			o.Network.remove(m.node)
			return nil, err
		}
		m.info.Addresses = append(m.info.Addresses, address)
	}
	if o.NoSleeper {
		return awake{m, m, m, m, m}, nil
	}
	return m, nil
}

// awake is a method without Sleeper.
type awake struct {
	bmi.Method
	bmi.Allocator
	bmi.Dropper
	bmi.Statser
	peers
}

// peers are the optional interfaces with which a method reports on its peers.
type peers interface {
	bmi.Checker
	bmi.Ranger
}
