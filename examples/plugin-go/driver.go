package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
)

const (
	scheme    = "seq"
	nameMax   = 64 // bytes
	nameSet   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~"
	piecesMax = 64

	// The kernel keeps a message whole, so it must fit into a socket's buffer.
	expectedMax, unexpectedMax = 64 << 10, 16 << 10 // bytes
)

// driver offers the plugin's method.
type driver struct{}

// Name implements bmi.Driver.
func (driver) Name() string { return scheme }

// Open implements bmi.Driver. An endpoint that does not listen also gets a name, under which its
// peers answer.
func (driver) Open(_ context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	name := "~" + rand.Text()
	var err error
	switch {
	case len(cfg.Listen) > 1:
		return nil, fmt.Errorf("%w: %s listens at one address, not at %d", bmi.ErrInvalid, scheme, len(cfg.Listen))
	case len(cfg.Listen) == 1:
		if name, err = nameOf(cfg.Listen[0]); err != nil {
			return nil, err
		}
	}
	m := &method{
		host: cfg.Host, clock: cfg.Clock, log: cfg.Log, listen: cfg.Listen,
		name: name, peers: make(map[string]*peer), buf: make([]byte, headerBytes+expectedMax+1),
	}
	if m.listener, err = listen(name); err != nil {
		return nil, err
	}
	if m.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		_ = unix.Close(m.listener)
		return nil, fmt.Errorf("%s: eventfd: %w", scheme, err)
	}
	return m, nil
}

// nameOf checks an address and returns its name.
func nameOf(address string) (string, error) {
	name, ok := strings.CutPrefix(address, scheme+"://")
	if !ok || name == "" || len(name) > nameMax || strings.Trim(name, nameSet) != "" {
		return "", fmt.Errorf("%w %.100q: it must look like %s://NAME, with up to %d of A-Z a-z 0-9 . _ - ~",
			bmi.ErrBadAddress, address, scheme, nameMax)
	}
	return name, nil
}

// method is an open method, the side of one endpoint. The engine lock guards all of it, except that
// Sleep and Wake, which run without the lock, use nap and bell.
type method struct {
	host   bmi.Host
	clock  func() time.Duration
	log    *slog.Logger
	listen []string
	name   string

	peers    map[string]*peer
	listener int
	fresh    []*caller     // connections from others that have no peer yet
	buf      []byte        // for one packet
	parts    [][]byte      // of a packet to send
	held     bool          // the endpoint did not accept a message of some peer
	retryAt  time.Duration // when to repeat a connect that found no room; 0: never

	fds, nap []unix.PollFd // for Poll and for Sleep
	bell     int
	armed    bool
}

// Info implements bmi.Method.
func (m *method) Info() bmi.Info {
	return bmi.Info{
		Name: scheme, Description: "processes of one user on one host, by Unix sockets", Provider: "SOCK_SEQPACKET",
		MaxExpectedSize: expectedMax, MaxUnexpectedSize: unexpectedMax, EagerSize: expectedMax, MaxPieces: piecesMax,
		Classes: true, Addresses: m.listen,
	}
}

// Close implements bmi.Method: waiting messages are sent as long as ctx lasts.
func (m *method) Close(ctx context.Context) error {
	for _, p := range m.peers {
		for m.flush(p); len(p.sends) > 0 && ctx.Err() == nil; m.flush(p) {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(p.out), Events: unix.POLLOUT}}, 1)
		}
		m.end(p, bmi.ErrClosed)
	}
	for _, c := range m.fresh {
		_ = unix.Close(c.fd)
	}
	_ = unix.Close(m.listener)
	return unix.Close(m.bell)
}
