package secure

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/flynn/noise"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// listenerOf and diallerOf make sides with static keys, for tests of permissions.
func listenerOf(t testing.TB, name string) *Guard {
	return newGuard(t, 2, Config{Identity: identity(t, name), Listening: true, Name: "listener"})
}

func diallerOf(t testing.TB, name string) *Guard {
	return newGuard(t, 1, Config{Identity: identity(t, name)})
}

// Both sides learn the name of the other one.
func TestStaticKeysName(t *testing.T) {
	for _, k := range secured(t)[1:] {
		dialler, listener := pair(t, k)
		i := dial(t, dialler)
		r := requested(t, i, listener)
		assert.Equal(t, "dialler", r.Client)
		assert.False(t, r.Owns("node7:7000"), "everybody who listens is listener here")
		packet, b, err := r.Accept(7, 8)
		require.NoError(t, err)
		_, err = i.Input(bob, packet)
		require.NoError(t, err)
		assert.Equal(t, "dialler", b.Name)
		assert.Equal(t, "listener", i.Peer().Name)

		i = dial(t, newGuard(t, 3, k.of(t, "listener", Config{})))
		assert.True(t, requested(t, i, listener).Owns("node7:7000"))
	}
	a, b := joined(t, shared(t))
	assert.Empty(t, a.Name)
	assert.Empty(t, b.Name, "one of the group, and nobody knows which")
}

// A stranger with a key of its own is refused, and both sides say how to change that. So is one that uses the name
// of a client with another key: names come from the list of clients, not from the client.
func TestUnknownKeys(t *testing.T) {
	here, there := refusal(t, diallerOf(t, "stranger"), listenerOf(t, "listener"))
	key := publicOf(t, "stranger").String()
	for err, says := range map[error]string{
		here:  "our key is not in its list of clients: let its owner add a line with a name and our public key " + key,
		there: "the other side has a key that is not in the list of clients here, so it was refused: if it may connect, add a line with its name and its public key " + key,
	} {
		var refused *RefusedError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, wire.CodeUnknown, refused.Code)
		assert.ErrorContains(t, err, says)
	}
	nobody := identity(t, "listener")
	nobody.Clients = nil
	_, there = refusal(t, diallerOf(t, "dialler"), newGuard(t, 2, Config{Identity: nobody, Listening: true}))
	assert.ErrorContains(t, there, "not in the list of clients")
}

// A false server, which lacks the real server's key, learns nothing, and gets the reason.
func TestFalseServers(t *testing.T) {
	here, there := refusal(t, diallerOf(t, "dialler"), listenerOf(t, "stranger"))
	assert.ErrorContains(t, here, "it does not have the key that is in our list of servers")
	assert.ErrorContains(t, there, "its list of servers has a wrong public key for this side")

	// The answer to another attempt has no effect, also if its header is changed to fit.
	other := dial(t, diallerOf(t, "dialler"))
	answer, _, err := requested(t, other, listenerOf(t, "listener")).Accept(7, 8)
	require.NoError(t, err)
	i := dial(t, newGuard(t, 9, Config{Identity: identity(t, "dialler")}))
	cookied(t, i, listenerOf(t, "listener"), 0)
	copy(answer[4:16], i.packet[4:16])
	out, err := i.Input(bob, answer)
	assert.Equal(t, Ignored, out)
	assert.ErrorIs(t, err, ErrForged)
}

// thiefDH is the key exchange of an attacker who has the server's private key and poses as a client whose private
// key it lacks: the secret of both static keys can be computed from either side.
type thiefDH struct {
	noise.DHFunc
	server, client *PrivateKey
	made           []byte // in place of the client's private key
}

func (d thiefDH) DH(private, public []byte) ([]byte, error) {
	if bytes.Equal(private, d.made) && bytes.Equal(public, d.server.pair.Public) {
		return d.DHFunc.DH(d.server.pair.Private, d.client.pair.Public)
	}
	return d.DHFunc.DH(private, public)
}

// An attacker who has the server's private key can claim to be any client, but cannot read the answer, and so makes
// no packet of the connection. That is why a name counts from the first packet on.
func TestAStolenServerKeyMakesNoClient(t *testing.T) {
	listener := listenerOf(t, "listener")
	dh := thiefDH{noise.DH25519, privateOf(t, "listener"), privateOf(t, "dialler"), privateOf(t, "made").pair.Private}
	m := wire.Init{Mode: wire.ModeStatic, Version: wire.Version, From: 0xbad, Nonce: 7, Port: 1}
	require.NoError(t, listener.cookies.turn(0))
	m.Cookie = listener.cookies.give(alice, &m)
	head := m.Append(nil)
	thief, err := noise.NewHandshakeState(noise.Config{
		CipherSuite: noise.NewCipherSuite(dh, noise.CipherChaChaPoly, noise.HashSHA256), Pattern: noise.HandshakeIK, Initiator: true, Prologue: head,
		StaticKeypair: noise.DHKey{Private: dh.made, Public: dh.client.pair.Public}, PeerStatic: dh.server.pair.Public, Random: seeded(9),
	})
	require.NoError(t, err)
	init, _, _, err := thief.WriteMessage(head, (&wire.InitPayload{Ciphers: wire.CipherChaCha}).Append(nil))
	require.NoError(t, err)
	_, r, err := listener.Respond(0, alice, init, nil)
	require.NoError(t, err)
	require.Equal(t, "dialler", r.Client, "so far it is believed")
	answer, _, err := r.Accept(7, 8)
	require.NoError(t, err)
	_, _, _, err = thief.ReadMessage(nil, answer[wire.ResponseClear:])
	require.Error(t, err)
}

// Sides with keys of different kinds refuse each other, and report the kind of the other one.
func TestKindsOfKeysDoNotMix(t *testing.T) {
	kinds := map[wire.Mode]keys{
		wire.ModeInsecure: {}, wire.ModeNoise: shared(t), wire.ModeStatic: {static: true}, wire.ModeStaticShared: {testKey(t, "a"), true},
	}
	for a, mine := range kinds {
		for b, theirs := range kinds {
			if a == b || !a.Static() && !b.Static() {
				continue
			}
			here, there := refusal(t, newGuard(t, 1, mine.of(t, "dialler", Config{})), newGuard(t, 2, theirs.of(t, "listener", Config{Listening: true})))
			assert.ErrorContains(t, here, fmt.Sprintf("this side %s, the other one %s: give both the same kind of keys", has(a), has(b)))
			assert.ErrorContains(t, there, fmt.Sprintf("this side %s, the other one %s: give both the same kind of keys", has(b), has(a)))
		}
	}
	here, there := refusal(t, newGuard(t, 1, keys{testKey(t, "b"), true}.of(t, "dialler", Config{})),
		newGuard(t, 2, keys{testKey(t, "a"), true}.of(t, "listener", Config{Listening: true})))
	assert.ErrorContains(t, here, "or the shared keys differ")
	assert.ErrorContains(t, there, "or the shared keys differ")
}

// Without a server's key no attempt can begin.
func TestServersMustBeKnown(t *testing.T) {
	g := newGuard(t, 1, Config{Identity: &Identity{Private: privateOf(t, "dialler")}})
	_, err := g.Initiate("node7:7000", 1, 1, nil)
	require.ErrorIs(t, err, ErrServer)
	assert.ErrorContains(t, err, "node7:7000")
}

// Neither side's key is visible in the packets, nor can it be found in recorded ones without the server's private
// key.
func TestStaticKeysDoNotShow(t *testing.T) {
	i := dial(t, diallerOf(t, "dialler"))
	r := requested(t, i, listenerOf(t, "listener"))
	packet, _, err := r.Accept(7, 8)
	require.NoError(t, err)
	for _, name := range []string{"dialler", "listener"} {
		public := publicOf(t, name)
		for _, sent := range [][]byte{i.Packet(), packet} {
			for n := range len(public) - 8 {
				assert.NotContains(t, string(sent), string(public[n:n+8]))
			}
		}
	}
	assert.NotContains(t, string(i.Packet()), "private data")
}

// Public keys that X25519 refuses are refused, as a server's and inside an INIT.
func TestWeakPublicKeys(t *testing.T) {
	weak := PublicKey{1} // of order 4: the shared secret does not depend on the private key
	id := identity(t, "dialler")
	id.Servers = &Servers{patterns: []serverPattern{{"*", "*", weak}}}
	i := dial(t, newGuard(t, 1, Config{Identity: id}))
	retry := (&wire.Retry{To: i.ID(), Nonce: i.clear.Nonce, Cookie: wire.Cookie{1}}).Append(nil)
	out, err := i.Input(bob, retry)
	assert.Equal(t, Failed, out)
	assert.Error(t, err)

	listener := listenerOf(t, "listener")
	listener.cfg.Identity.Clients.names[weak] = "weak"
	static := &PrivateKey{pair: privateOf(t, "x").pair}
	static.pair.Public = weak[:]
	id = identity(t, "dialler")
	id.Private = static
	_, there := refusal(t, newGuard(t, 1, Config{Identity: id}), listener)
	assert.Error(t, there)
}

// Only a limited number of INITs with unknown keys is opened for each host. Other hosts are not affected, and an
// INIT that leads to a request does not count.
func TestStrangersAreBounded(t *testing.T) {
	listener := listenerOf(t, "listener")
	mallory := netip.MustParseAddrPort("192.0.2.66:7000")
	opened, now := 0, time.Second
	attack := func(n int) (last []byte) {
		for range n {
			i, err := diallerOf(t, "stranger").Initiate(bob.String(), 0xbad, 1, nil)
			require.NoError(t, err)
			retry, _, err := listener.Respond(now, mallory, i.Packet(), nil)
			require.ErrorIs(t, err, ErrCookie)
			_, err = i.Input(bob, retry)
			require.NoError(t, err)
			var r *Request
			last, r, err = listener.Respond(now, mallory, i.Packet(), nil)
			require.Nil(t, r)
			require.LessOrEqual(t, len(last), wire.RefusedBytes)
			if err != ErrStrangers {
				opened++
			}
		}
		return last
	}
	last := attack(2 * StrangerBurst)
	assert.Equal(t, StrangerBurst, opened)
	m, err := wire.ParseRefused(last)
	require.NoError(t, err)
	assert.Equal(t, wire.CodeBusy, m.Code)
	requestedAt := func() {
		i := dial(t, newGuard(t, uint64(opened), Config{Identity: identity(t, "dialler")}))
		cookied(t, i, listener, now)
		_, r, err := listener.Respond(now, alice, i.Packet(), nil)
		require.NoError(t, err)
		require.NotNil(t, r)
	}
	requestedAt()
	opened = 0
	now += 10 * StrangerEvery
	attack(StrangerBurst)
	assert.Equal(t, 10, opened)
	assert.Len(t, listener.strangers.hosts, 1, "a known client is not in the table")
	requestedAt()
}

// The table of strangers is bounded, too. Hosts for which it has no room share one allowance.
func TestStrangersFromEverywhere(t *testing.T) {
	var s strangers
	host := func(n int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 1)
	}
	now := time.Hour
	for n := range StrangerHostsMax {
		require.True(t, s.may(now, host(n)))
		s.failed(now, host(n))
	}
	rest := 0
	for n := StrangerHostsMax; n < 2*StrangerHostsMax; n++ {
		if s.may(now, host(n)) {
			s.failed(now, host(n))
			rest++
		}
	}
	assert.Equal(t, StrangerBurst, rest)
	assert.Len(t, s.hosts, StrangerHostsMax)
	assert.True(t, s.may(now, host(5)), "whoever is in it has its own share")
	now += time.Minute
	s.failed(now, host(2*StrangerHostsMax))
	assert.Len(t, s.hosts, 1)
	v6 := func(text string) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr(text), 1) }
	s.failed(now, v6("2001:db8::1"))
	s.failed(now, v6("2001:db8::2"))
	assert.Len(t, s.hosts, 2, "one network is one host")
}

// An attacker can do nothing with recorded INITs of a client.
func TestRecordedInitsOfAClient(t *testing.T) {
	listener := listenerOf(t, "listener")
	i := dial(t, diallerOf(t, "dialler"))
	r := requested(t, i, listener)
	init := bytes.Clone(i.Packet())
	answer, _, err := r.Accept(7, 8)
	require.NoError(t, err)
	again, r, err := listener.Respond(time.Second, alice, init, nil)
	require.NoError(t, err)
	require.Nil(t, r, "no second request")
	assert.Equal(t, answer, again)
	_, r, err = listener.Respond(time.Second, bob, init, nil)
	require.ErrorIs(t, err, ErrCookie, "from elsewhere")
	require.Nil(t, r)
	_, r, err = listener.Respond(InitLife, alice, init, nil)
	require.ErrorIs(t, err, ErrCookie, "too late")
	require.Nil(t, r)
	_, r, err = listenerOf(t, "listener").Respond(0, alice, init, nil)
	require.NoError(t, err, "the same seed makes the same cookies")
	require.NotNil(t, r)
	_, r, err = newGuard(t, 8, Config{Identity: identity(t, "listener"), Listening: true}).Respond(0, alice, init, nil)
	require.ErrorIs(t, err, ErrCookie, "a restarted server")
	require.Nil(t, r)
}
