package via

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/peers"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Driver returns the driver of the VIA method over one provider of NICs. Its
// addresses are via+PROVIDER://NAME.
func Driver(p nic.Provider) bmi.Driver {
	if _, ok := p.(nic.Keyed); ok {
		return keyed{driver{p}}
	}
	if _, ok := p.(nic.MultiUser); ok {
		return shared{driver{p}}
	}
	return driver{p}
}

type driver struct{ provider nic.Provider }

// Name is the scheme of the addresses.
func (d driver) Name() string { return "via+" + d.provider.Name() }

// Open opens a NIC and the method on it.
func (d driver) Open(_ context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	opts, err := options(cfg.Options)
	if err != nil {
		return nil, err
	}
	provider, err := withKeys(d.provider, &opts)
	if err != nil {
		return nil, err
	}
	if provider, err = withUsers(provider, &opts); err != nil {
		return nil, err
	}
	quiet(provider, &cfg)
	host, err := listenHost(d.Name(), cfg.Listen)
	if err != nil {
		return nil, err
	}
	links, err := link.Open(provider, link.Config{
		Listen: host, Clock: cfg.Clock, Log: cfg.Log, Credits: opts.Credits,
		TimedOut: func(remote string) { bmi.Report(cfg.Host, bmi.TimedOut, d.Name()+"://"+remote) },
	})
	if err != nil {
		if errors.Is(err, link.ErrUnsuitable) {
			return nil, fmt.Errorf("%w: %w", bmi.ErrNotSupported, err)
		}
		if errors.Is(err, nic.ErrNameTaken) {
			return nil, bmi.TakenError(d.Name()+"://"+host, err)
		}
		if errors.Is(err, nic.ErrBadAddress) {
			return nil, fmt.Errorf("%w: %w", bmi.ErrBadAddress, err)
		}
		return nil, err
	}
	if host != "" {
		host = links.LocalAddr() // with the port, if it was the NIC that chose it
	}
	return newMethod(d.Name(), host, links, cfg, opts), nil
}

// listenHost is the name that a NIC is opened with.
func listenHost(scheme string, addresses []string) (string, error) {
	switch len(addresses) {
	case 0:
		return "", nil
	case 1:
	default:
		return "", fmt.Errorf("%w: %d addresses to listen on, a NIC has one name", bmi.ErrInvalid, len(addresses))
	}
	return peers.ParseAddress(scheme, addresses[0])
}

// keyed is the driver over a provider whose NICs take a key.
type keyed struct{ driver }

var _ bmi.Keyer = keyed{}

// WithKey implements bmi.Keyer.
func (d keyed) WithKey(o any, key []byte) (any, error) {
	opts, err := options(o)
	if err != nil || opts.Key != nil {
		return opts, err
	}
	opts.Key = append(nic.Key{}, key...) // nil would be none
	_, err = withKey(d.provider, opts.Key)
	return opts, err
}

// shared is the driver over a provider whose NICs can be opened to all users of the machine.
type shared struct{ driver }

var _ bmi.UserOpener = shared{}

// WithOtherUsers implements bmi.UserOpener.
func (d shared) WithOtherUsers(o any) (any, error) {
	opts, err := options(o)
	opts.OtherUsers = true
	return opts, err
}

// WithConnectTimeout implements bmi.ConnectTimer.
func (d driver) WithConnectTimeout(o any, timeout time.Duration) (any, error) {
	opts, err := bmi.OptionsOf[Options](o)
	if err == nil {
		opts.ConnectTimeout = cmp.Or(opts.ConnectTimeout, timeout)
	}
	return opts, err
}
