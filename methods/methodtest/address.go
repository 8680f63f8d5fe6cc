package methodtest

import (
	"context"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Addresses: lookup, reverse lookup, errors in addresses, and identity.
var addressTests = Tests{
	{"Lookup", true, testLookup},
	{"BadAddresses", true, testBadAddresses},
	{"ConnectOnly", true, testConnectOnly},
	{"NameTaken", false, testNameTaken},
	{"CheckAddr", false, testCheckAddr},
	{"QueryAddrRange", false, testQueryAddrRange},
}

func testLookup(t T, s *Subject) {
	w := newWorld(t, s)
	a, b, c := w.open("a"), w.open("b"), w.open("c")
	ab, err := a.ep.Lookup(s.Address(b.name))
	require.NoError(t, err)
	ac, err := a.ep.Lookup(s.Address(c.name))
	require.NoError(t, err)
	require.False(t, ab.IsZero())
	require.True(t, ab != ac, "different endpoints have different addresses")
	again, err := a.ep.Lookup(s.Address(b.name))
	require.NoError(t, err)
	requireAddr(t, ab, again, "the same endpoint has the same address")

	text := ab.String()
	require.True(t, strings.HasPrefix(text, s.scheme()+"://"), "reverse lookup gives %q", text)
	again, err = a.ep.Lookup(text)
	require.NoError(t, err, "lookup of what the reverse lookup gave")
	requireAddr(t, ab, again, "a lookup of its text")
	require.True(t, bmi.Addr{}.IsZero())

	// It stays the same after an exchange of messages.
	w.exchange(a, b, 1, w.message(10))
	again, err = a.ep.Lookup(text)
	require.NoError(t, err)
	requireAddr(t, ab, again, "a lookup of its text")
}

// requireAddr compares addresses. A failed assertion of testify would print the
// whole endpoint behind an address, while other goroutines use it.
func requireAddr(t T, want, got bmi.Addr, why string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got another address (%s) than the one known (%s)", why, got, want)
		t.FailNow()
	}
}

func testBadAddresses(t T, s *Subject) {
	w, a, b := pair(t, s)
	for _, text := range []string{"", "://", "no-scheme", s.scheme() + "://", s.scheme() + ":"} {
		_, err := a.ep.Lookup(text)
		assert.Error(t, err, "lookup of %q", text)
	}
	_, err := a.ep.Lookup("no-such-method://x")
	assert.ErrorIs(t, err, bmi.ErrUnknownMethod)
	_, err = a.ep.Lookup(strings.Repeat("x", 1<<16))
	assert.Error(t, err, "lookup of 64 KiB of text")

	cfg := w.config("x")
	cfg.Listen = []string{s.scheme() + "://"}
	ep, err := s.open(context.Background(), cfg)
	if ep != nil {
		w.adopt(t, "nameless", ep, cfg) // so that it is closed
	}
	assert.Error(t, err, "listen on an address without a name")
	w.exchange(a, b, 1, w.message(10))
}

// connectOnly makes an endpoint that cannot be connected to.
func (w *world) connectOnly(role string) *node {
	w.Helper()
	return w.open(role, func(cfg *bmi.Config) {
		cfg.Listen, cfg.Methods = nil, []string{w.s.scheme()}
	})
}

// introduced makes server known to client, and client to server by sending a
// message.
func (w *world) introduced(client, server *node) {
	w.Helper()
	a, err := client.ep.Lookup(w.s.Address(server.name))
	require.NoError(w, err)
	client.learn(server, a)
	client.introduce(server, a)
}

func testConnectOnly(t T, s *Subject) {
	w := newWorld(t, s)
	server := w.open("server")
	one, two := w.connectOnly("one"), w.connectOnly("two")
	require.Empty(t, one.ep.Addresses())
	w.introduced(one, server)
	w.introduced(two, server)
	require.True(t, server.addr(one) != server.addr(two), "two clients are two peers")
	require.NotEmpty(t, server.addr(one).String(), "a client has a text for people")
	for _, client := range []*node{one, two} {
		w.exchange(server, client, 1, w.message(100))
		w.exchange(client, server, 1, w.message(100))
	}
}

func testNameTaken(t T, s *Subject) {
	w, a, b := pair(t, s)
	var err error
	var ep *bmi.Endpoint
	w.bounded("open a name that is taken", func(ctx context.Context) error {
		ep, err = s.open(ctx, w.config(b.name))
		return nil
	})
	if ep != nil {
		w.adopt(t, b.name, ep, bmi.Config{}) // so that it is closed
	}
	require.ErrorIs(t, err, bmi.ErrNameTaken)
	w.exchange(a, b, 1, w.message(10))
}

func testCheckAddr(t T, s *Subject) {
	w, a, b := pair(t, s)
	addr := a.addr(b)
	err := a.ep.CheckAddr(addr)
	if isOneOf(err, []error{bmi.ErrNotSupported}) {
		t.Skipf("the method does not know who is alive: %v", err)
	}
	w.exchange(a, b, 1, w.message(10))
	require.NoError(t, a.ep.CheckAddr(addr), "the two have just talked")
	require.Error(t, a.ep.CheckAddr(bmi.Addr{}), "the zero address")

	b.abandon()
	w.closeBounded(b)
	a.until("CheckAddr says that a closed endpoint is gone", func() bool {
		return a.ep.CheckAddr(addr) != nil
	})
}

func testQueryAddrRange(t T, s *Subject) {
	_, a, b := pair(t, s)
	addr := a.addr(b)
	in, err := a.ep.QueryAddrRange(addr, addr.String())
	if isOneOf(err, []error{bmi.ErrNotSupported}) {
		t.Skipf("the method has no ranges of addresses: %v", err)
	}
	require.NoError(t, err)
	require.True(t, in, "%s lies in the range of only itself", addr)
	in, err = a.ep.QueryAddrRange(addr, s.Address(a.name))
	require.NoError(t, err)
	require.False(t, in, "%s does not lie in the range of %s", addr, s.Address(a.name))
	if s.Ranges == nil {
		return
	}
	inside, outside := s.Ranges(b.name)
	for _, pattern := range inside {
		in, err := a.ep.QueryAddrRange(addr, pattern)
		require.NoError(t, err)
		require.True(t, in, "%s lies in %s", addr, pattern)
	}
	for _, pattern := range outside {
		in, err := a.ep.QueryAddrRange(addr, pattern)
		require.NoError(t, err)
		require.False(t, in, "%s does not lie in %s", addr, pattern)
	}
}

// prompt is the limit for an answer that must not take a whole time-out. It is
// generous because the machine may be busy.
func (w *world) prompt() time.Duration { return w.s.timeout() / 2 }
