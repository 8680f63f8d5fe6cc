package udp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/kernel"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/reliable"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A Provider opens devices. The zero value takes its key from the environment.
type Provider struct {
	// Key is the key that all sides share; the zero value means the one from the environment.
	Key secure.Source
	// Identity has the keys of the devices themselves. The zero value means the keys from the
	// environment, if Key is zero too and Insecure is not set. Together with Key, both kinds are used.
	Identity secure.IdentitySource
	// Insecure opens devices without a key. It cannot be combined with one.
	Insecure bool
	// DataPort is the UDP port of the data lane of a listening device; 0: the one from the environment,
	// or any.
	DataPort uint16
	// Datagrams opens the transport of the datagrams; nil: sockets of the kernel.
	Datagrams func() (dgram.Device, error)
	// Congestion makes the congestion control of a connection's data lane;
	// nil: reliable.NewDelay.
	Congestion func() reliable.Congestion
	// PacketBytes bounds the UDP payload; 0: only the path does.
	PacketBytes int
	// GiveUp is how long a peer may be silent while something waits for it; 0:
	// the constant of that name.
	GiveUp time.Duration
	// AckDelay and the others are as in reliable.Options; 0 means its defaults.
	AckDelay, TimeoutMin, TimeoutMax time.Duration
	// KeepAlive is the silence after which a peer is probed; 0: the constant of that name, < 0: never.
	KeepAlive time.Duration
	// CloseDrain is how long closing a device waits until everything it sent is acknowledged; 0: the
	// constant of that name, < 0: it does not wait.
	CloseDrain time.Duration
	// Random is the source of keys and numbers; nil: the system's. Only simulation sets another.
	Random io.Reader
}

var (
	_ nic.Keyed      = Provider{}
	_ nic.Identified = Provider{}
)

// Name implements nic.Provider.
func (Provider) Name() string { return "udp" }

// dataPort finds the port of the data lane of a device that listens; 0 means any.
func (p Provider) dataPort() (uint16, error) {
	text := environ.Getenv(DataPortEnv)
	if p.DataPort != 0 || text == "" {
		return p.DataPort, nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("udp: %s is %q, want a port from 1 to 65535", DataPortEnv, text)
	}
	return uint16(port), nil
}

// Open implements nic.Provider.
func (p Provider) Open(cfg nic.Config) (nic.Device, error) {
	if cfg.Clock == nil {
		start := time.Now()
		cfg.Clock = func() time.Duration { return time.Since(start) }
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.TimedOut == nil {
		cfg.TimedOut = func(string) {}
	}
	if p.Random == nil {
		p.Random = rand.Reader
	}
	if p.Datagrams == nil {
		p.Datagrams = func() (dgram.Device, error) { return kernel.Open(kernel.Options{}) }
	}
	if p.Congestion == nil {
		p.Congestion = func() reliable.Congestion { return reliable.NewDelay(reliable.DelayOptions{}) }
	}
	if p.KeepAlive == 0 {
		p.KeepAlive = KeepAlive
	}
	if p.GiveUp == 0 {
		p.GiveUp = GiveUp
	}
	if p.CloseDrain == 0 {
		p.CloseDrain = CloseDrain
	}
	keys, err := p.keys(cfg.Listen != "")
	if err != nil {
		return nil, err
	}
	if cfg.Listen == "" {
		p.DataPort = 0
	} else if p.DataPort, err = p.dataPort(); err != nil {
		return nil, err
	}
	datagrams, err := p.Datagrams()
	if err != nil {
		return nil, err
	}
	d, err := newDevice(p, cfg, keys, datagrams)
	if err != nil {
		return nil, errors.Join(err, datagrams.Close())
	}
	if d.sleeper != nil {
		return sleeping{d}, nil
	}
	return d, nil
}
