package secure

import (
	"crypto/sha256"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// seeded returns a repeatable source of randomness for one test.
func seeded(seed uint64) *rand.ChaCha8 {
	var b [32]byte
	b[0], b[1] = byte(seed), byte(seed>>8)
	return rand.NewChaCha8(b)
}

// testKey returns a key made of one letter's bytes; another letter is another key.
func testKey(t testing.TB, letter string) *Key {
	t.Helper()
	key, err := LoadKey(Source{Text: strings.Repeat(letter, 2*keyBytes)})
	require.NoError(t, err)
	return key
}

var (
	alice = netip.MustParseAddrPort("192.0.2.1:7000")
	bob   = netip.MustParseAddrPort("[2001:db8::2]:7001")
)

// keys are the keys of the two sides of a test.
type keys struct {
	shared *Key
	static bool
}

func shared(t testing.TB) keys { return keys{shared: testKey(t, "a")} }

// of adds the keys of a side to its configuration.
func (k keys) of(t testing.TB, name string, cfg Config) Config {
	cfg.Key = k.shared
	if k.static {
		cfg.Identity = identity(t, name)
	}
	return cfg
}

// modes runs a test with every kind of guard.
func modes(t *testing.T, test func(t *testing.T, k keys)) {
	t.Run("insecure", func(t *testing.T) { test(t, keys{}) })
	t.Run("noise", func(t *testing.T) { test(t, shared(t)) })
	t.Run("static", func(t *testing.T) { test(t, keys{static: true}) })
	t.Run("both", func(t *testing.T) { test(t, keys{testKey(t, "a"), true}) })
}

// privateOf returns the private key that a name has in tests.
func privateOf(t testing.TB, name string) *PrivateKey {
	t.Helper()
	raw := sha256.Sum256([]byte(name))
	key, err := privateKey(raw[:])
	require.NoError(t, err)
	return key
}

func publicOf(t testing.TB, name string) PublicKey { return privateOf(t, name).Public() }

// identity returns the identity of a side. Both sides know each other, and every listening side
// is listener.
func identity(t testing.TB, name string) *Identity {
	t.Helper()
	clients, err := ParseClients([]byte("dialler " + publicOf(t, "dialler").String() + "\nlistener " + publicOf(t, "listener").String()))
	require.NoError(t, err)
	servers, err := ParseServers([]byte("* " + publicOf(t, "listener").String()))
	require.NoError(t, err)
	return &Identity{Private: privateOf(t, name), Clients: clients, Servers: servers}
}

func newGuard(t testing.TB, seed uint64, cfg Config) *Guard {
	t.Helper()
	if cfg.Random == nil {
		cfg.Random = seeded(seed)
	}
	g, err := NewGuard(cfg)
	require.NoError(t, err)
	return g
}

// pair are two guards with keys that fit: one dials, the other listens.
func pair(t testing.TB, k keys) (dialler, listener *Guard) {
	return newGuard(t, 1, k.of(t, "dialler", Config{})), newGuard(t, 2, k.of(t, "listener", Config{Listening: true, Name: "listener"}))
}

func dial(t testing.TB, g *Guard) *Initiator {
	t.Helper()
	i, err := g.Initiate(bob.String(), 0xd1a1, 4001, []byte("private data"))
	require.NoError(t, err)
	return i
}

// cookied continues an attempt until its INIT has a cookie.
func cookied(t testing.TB, i *Initiator, g *Guard, now time.Duration) {
	t.Helper()
	retry, r, err := g.Respond(now, alice, i.Packet(), nil)
	require.ErrorIs(t, err, ErrCookie)
	require.Nil(t, r)
	out, err := i.Input(bob, retry)
	require.NoError(t, err)
	require.Equal(t, Again, out)
}

// requested continues an attempt until the guard has its request.
func requested(t testing.TB, i *Initiator, g *Guard) *Request {
	t.Helper()
	cookied(t, i, g, 0)
	answer, r, err := g.Respond(0, alice, i.Packet(), nil)
	require.NoError(t, err)
	require.Empty(t, answer)
	require.NotNil(t, r)
	return r
}

// refused gives an attempt the same refusal as often as it takes, and returns the attempt's
// error.
func refused(t testing.TB, i *Initiator, packet []byte) error {
	t.Helper()
	for range RefusalsMin - 1 {
		out, err := i.Input(bob, packet)
		require.NoError(t, err)
		require.Equal(t, Again, out)
	}
	out, err := i.Input(bob, packet)
	require.Equal(t, Failed, out)
	return err
}

// joined are the two ends of a connection.
func joined(t testing.TB, k keys) (a, b Peer) {
	t.Helper()
	dialler, listener := pair(t, k)
	i := dial(t, dialler)
	packet, b, err := requested(t, i, listener).Accept(0xacce, 4003)
	require.NoError(t, err)
	out, err := i.Input(bob, packet)
	require.NoError(t, err)
	require.Equal(t, Connected, out)
	return i.Peer(), b
}

// seal makes one packet in memory of its own.
func seal(t testing.TB, s Session, to uint32, body string) []byte {
	t.Helper()
	head := wire.Packet{To: to}.Append(make([]byte, 0, s.Room(wire.PacketLen, len(body))))
	vec, err := s.Seal(nil, head, [][]byte{[]byte(body)})
	require.NoError(t, err)
	return flat(vec)
}

func flat(vec [][]byte) (all []byte) {
	for _, piece := range vec {
		all = append(all, piece...)
	}
	return all
}
