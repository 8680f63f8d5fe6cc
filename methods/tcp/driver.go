package tcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/inbox"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// DriverOver returns the driver of the TCP method over a given stack, for
// addresses name://HOST:PORT. Each endpoint opens its own stack.
func DriverOver(name string, open func(Options) (stack.Stack, error)) bmi.Driver {
	return driver{name, open}
}

type driver struct {
	name string
	open func(Options) (stack.Stack, error)
}

// Name is the scheme of the addresses.
func (d driver) Name() string { return d.name }

// Open opens a stack and the method on it.
func (d driver) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	opts, err := options(cfg.Options)
	if err != nil {
		return nil, err
	}
	s, err := d.open(opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	if l, ok := s.(stack.Limited); ok {
		opts.Connections = min(opts.Connections, l.Room())
	}
	m := newMethod(d.name, s, cfg, opts)
	for _, address := range cfg.Listen {
		if err := m.listen(ctx, address); err != nil {
			m.names.Stop()
			return nil, errors.Join(err, s.Close())
		}
	}
	if sl, ok := s.(stack.Sleeper); ok {
		return &sleeper{m, sl}, nil
	}
	return m, nil
}

func newMethod(name string, s stack.Stack, cfg bmi.MethodConfig, opts Options) *method {
	m := &method{
		name: name, stack: s, host: cfg.Host, log: cfg.Log, clock: cfg.Clock, opts: opts,
		look:    true,
		inbuf:   make([]byte, readBytes),
		out:     make([]byte, 0, gatherRoom),
		vec:     make([][]byte, 0, stack.PiecesMax),
		remotes: peer.NewIDs[*remote](peer.IDMax, peer.IDQuarantine),
		byName:  make(map[string]*remote),
		shares:  newShares(),
	}
	m.inbox = inbox.New(inbox.Options{
		Seed: seed(opts.Seed), EagerBytes: wire.EagerMax, Host: cfg.Host, Buffers: &m.buffers, Errors: &m.errors,
	})
	m.files, _ = s.(stack.FileSender)
	m.names.Start(cfg.Host.Wake)
	return m
}

// seed must be unknown to hostile peers that choose tags.
func seed(fixed uint64) uint64 {
	for fixed == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails, according to its documentation
		fixed = binary.LittleEndian.Uint64(b[:])
	}
	return fixed
}

// WithConnectTimeout implements bmi.ConnectTimer.
func (d driver) WithConnectTimeout(o any, timeout time.Duration) (any, error) {
	opts, err := bmi.OptionsOf[Options](o)
	if err == nil {
		opts.ConnectTimeout = cmp.Or(opts.ConnectTimeout, timeout)
	}
	return opts, err
}
