package udp_test

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

const soon = 5 * time.Second // of virtual time

func nameOf(p nic.Port) string { return p.(nic.Authenticator).AuthenticatedName() }

// TestSimAuthenticatedNames: both sides know the name of the other one by the first packet, and only while they are
// connected.
func TestSimAuthenticatedNames(t *testing.T) {
	for name, p := range map[string]udp.Provider{
		"static": {Identity: udptest.Static}, "both": {Key: udptest.Key, Identity: udptest.Static},
		"secure": {Key: udptest.Key}, "insecure": {Insecure: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := udptest.New(1, lan, simdgram.Options{}, p)
			server, host := newSide(t, w, w.NewName()), newSide(t, w, w.NewName())
			want := map[*side]string{server: "host2", host: "host1"}
			if p.Identity.Empty() {
				want = map[*side]string{}
			}
			host.dial(server)
			assert.Empty(t, nameOf(host.port))
			within(t, soon, "an answer", func() bool {
				if server.port != nil && !server.up {
					assert.Empty(t, nameOf(server.port), "nothing is proved before the first packet")
				}
				return server.up && host.up
			}, server, host)
			assert.Equal(t, want[server], nameOf(server.port))
			assert.Equal(t, want[host], nameOf(host.port))
			port := host.port
			host.port.Disconnect()
			within(t, soon, "the end", func() bool { return !server.up && !host.up }, server, host)
			assert.Empty(t, nameOf(port))
		})
	}
}

// opens opens a device with an identity of its own in a world.
func opens(t *testing.T, listen string, id secure.IdentitySource, host *simdgram.Host, w *udptest.World) *side {
	s := &side{t: t, w: w, name: listen, level: nic.ReliableReception}
	s.taken, s.done = func([]byte) {}, func(*nic.Descriptor) {}
	d, err := w.OpenAs(host, id, nic.Config{Listen: listen, Clock: w.Clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s.d = d
	return s
}

// TestSimStrangersWithKeys: a stranger whose key the server does not know gets no connection, makes no request, and learns
// the reason. The same holds for a client without a key.
func TestSimStrangersWithKeys(t *testing.T) {
	w := udptest.New(1, lan, simdgram.Options{}, udp.Provider{Identity: udptest.Static})
	server := newSide(t, w, w.NewName())
	asks := func(id secure.IdentitySource) *side {
		at := w.NewName()
		s := opens(t, at, id, w.Net.Host(netip.MustParseAddrPort(at).Addr()), w)
		s.dial(server)
		within(t, soon, "a refusal", func() bool { return s.port == nil }, server, s)
		require.ErrorIs(t, s.err, nic.ErrKey)
		require.Zero(t, server.asked)
		return s
	}
	stranger := asks(udptest.Identity("stranger"))
	assert.ErrorContains(t, stranger.err, "our key is not in its list of clients")
	stats := server.d.Stats()
	assert.EqualValues(t, secure.RefusalsMin, stats.Unknown)
	assert.Equal(t, stats.Unknown, stats.Refused)
	assert.Equal(t, stats.Refused, server.d.PacketStats().Refused)

	// It uses the public key of another server: this one cannot decrypt the INIT.
	id := udptest.Identity("guest1")
	id.Servers = strings.ReplaceAll(id.Servers, "10.0.0.1:*", "10.0.0.77:*")
	wrong := asks(id)
	assert.ErrorContains(t, wrong.err, "it does not have the key that is in our list of servers (see "+udp.ServersFileEnv+")")

	for kind, p := range map[string]udp.Provider{"is insecure": {Insecure: true}, "has a shared key": {Key: udptest.Key}, "has a key of its own and a shared key": {Key: udptest.Key, Identity: udptest.Static}} {
		w := udptest.New(1, lan, simdgram.Options{}, p)
		other := newSide(t, w, w.NewName())
		at := w.NewName()
		s := opens(t, at, udptest.Identity("host2"), w.Net.Host(netip.MustParseAddrPort(at).Addr()), w)
		s.dial(other)
		within(t, soon, "a refusal", func() bool { return s.port == nil }, other, s)
		require.ErrorIs(t, s.err, nic.ErrKey)
		assert.ErrorContains(t, s.err, "this side has a key of its own, the other one "+kind)
		other.dial(s)
		within(t, soon, "a refusal", func() bool { return other.port == nil }, other, s)
		require.ErrorIs(t, other.err, nic.ErrKey)
		assert.ErrorContains(t, other.err, "this side "+kind+", the other one has a key of its own")
	}
}

// TestSimNamesOfOthers: a client that uses the address of another endpoint is not taken for that one, so that it gets none of
// its messages. A client whose key belongs to the address is.
func TestSimNamesOfOthers(t *testing.T) {
	w := udptest.New(1, lan, simdgram.Options{}, udp.Provider{Identity: udptest.Static})
	server, honest := newSide(t, w, w.NewName()), newSide(t, w, w.NewName())
	var remote string
	server.requested = func(e *nic.ConnEvent) { remote = e.Remote }
	honest.dial(server)
	within(t, soon, "a connection", func() bool { return server.up && honest.up }, server, honest)
	assert.Equal(t, honest.name, remote)
	assert.Zero(t, server.d.Stats().Unnamed)
	honest.port.Disconnect()
	within(t, soon, "the end", func() bool { return !server.up && !honest.up }, server, honest)

	// The host has the honest one's address, as a machine on the way may, or the same machine later.
	w.Crash(honest.name)
	thief := opens(t, honest.name, udptest.Identity("guest7"), w.Net.Host(honest.host()), w)
	thief.dial(server)
	within(t, soon, "a connection", func() bool { return server.up && thief.up }, server, thief)
	assert.Equal(t, "~guest7@"+honest.name, remote)
	assert.Equal(t, "guest7", nameOf(server.port))
	assert.EqualValues(t, 1, server.d.Stats().Unnamed)
}

// TestSimServersMustBeKnown: no packet goes to a server without a known public key.
func TestSimServersMustBeKnown(t *testing.T) {
	w := udptest.New(1, lan, simdgram.Options{}, udp.Provider{Identity: udptest.Static})
	at := w.NewName()
	id := udptest.Identity("host1")
	id.Servers = ""
	s := opens(t, at, id, w.Net.Host(netip.MustParseAddrPort(at).Addr()), w)
	s.newPort()
	err := s.port.Connect("10.0.0.9:7000", nil, 0)
	require.ErrorIs(t, err, nic.ErrKey)
	assert.ErrorContains(t, err, "have none for 10.0.0.9:7000")
	assert.ErrorContains(t, err, udp.ServersFileEnv)
	assert.Zero(t, s.d.Stats().Conns)
}

// TestStaticKeysOfTheEnvironment: errors in the variables are reported when a device is opened.
func TestStaticKeysOfTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	key, err := secure.NewPrivateKey()
	require.NoError(t, err)
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	private, list := file("private", key.Text()), file("clients", "me "+key.Public().String())
	servers := file("servers", "* "+key.Public().String())
	all := []string{udp.KeyFileEnv, udp.KeyEnv, udp.InsecureEnv, udp.PrivateFileEnv, udp.ClientsFileEnv, udp.ServersFileEnv}
	for name, c := range map[string]struct {
		env    map[string]string
		listen string
		says   string
	}{
		"only connects":    {map[string]string{udp.PrivateFileEnv: private, udp.ServersFileEnv: servers}, "", ""},
		"listens":          {map[string]string{udp.PrivateFileEnv: private, udp.ClientsFileEnv: list}, "127.0.0.1:0", ""},
		"with a key":       {map[string]string{udp.PrivateFileEnv: private, udp.KeyEnv: "correct horse battery staple"}, "", ""},
		"no private key":   {map[string]string{udp.ClientsFileEnv: list}, "", "need a private key of this side, too: make one with bmi genkey"},
		"no clients":       {map[string]string{udp.PrivateFileEnv: private}, "127.0.0.1:0", "set " + udp.ClientsFileEnv},
		"insecure":         {map[string]string{udp.PrivateFileEnv: private, udp.InsecureEnv: "1"}, "", "choose one"},
		"a public key":     {map[string]string{udp.PrivateFileEnv: list}, "", "it is no private key"},
		"a shared key":     {map[string]string{udp.KeyFileEnv: private}, "", "private key of one endpoint"},
		"clients unlisted": {map[string]string{udp.PrivateFileEnv: private, udp.ClientsFileEnv: servers}, "", "cannot stand"},
		"nothing":          {nil, "", "bmi genkey"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range all {
				t.Setenv(v, c.env[v])
			}
			d, err := udp.Provider{}.Open(nic.Config{Listen: c.listen, Log: slog.New(slog.DiscardHandler)})
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			require.NoError(t, d.Close())
		})
	}
}
