package secure

import (
	"crypto/rand"
	"fmt"
	"io"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// A Config configures a Guard. The zero value is an insecure device that cannot be connected to.
type Config struct {
	// Key is the key that all sides share; nil: none. Without Key and Identity the device is insecure.
	Key *Key
	// Identity has the static keys of this side and of its peers; nil: none.
	Identity *Identity
	// Listening: requests are processed instead of refused.
	Listening bool
	// Name is our address, at most wire.NameMax bytes. For a listening device it must be the same after
	// a restart, because peers recognise the RESETs of its next life by it.
	Name string
	// Place distinguishes machines whose devices have the same name because they listen at all addresses. It is empty if the name
	// is enough.
	Place string
	// Random is the source of keys and nonces; nil: the system's. Only simulation sets another.
	Random io.Reader
	// Ciphers are the ciphers that are fast here; 0: chosen by the CPU.
	Ciphers wire.Ciphers
	// InitsMax is how many INITs are remembered; 0: InitsMax.
	InitsMax int
}

// A Guard handles one device's side of all handshakes.
type Guard struct {
	cfg       Config
	mode      wire.Mode
	cookies   cookies
	memory    memory
	resets    resets
	strangers strangers
}

// A Peer is the result of a handshake.
type Peer struct {
	Session Session
	ID      uint32     // the other side's id of the connection
	Port    uint16     // UDP port of the other side's data lane
	Token   wire.Token // of a RESET from the other side
	// Cipher protects the packets; 0: none, it is insecure.
	Cipher wire.Ciphers
	// Name is the name of the other side's static key in the list of clients; "" if it has no such key
	// or is not in the list. For an accepted side it is proved only once Session has opened a packet.
	Name string
}

// NewGuard makes a Guard.
func NewGuard(cfg Config) (*Guard, error) {
	if len(cfg.Name) > wire.NameMax {
		return nil, fmt.Errorf("%w: a name of %d bytes", ErrPrivate, len(cfg.Name))
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if cfg.Ciphers == 0 {
		cfg.Ciphers = fastCiphers()
	}
	if cfg.InitsMax <= 0 {
		cfg.InitsMax = InitsMax
	}
	g := &Guard{cfg: cfg, mode: cfg.mode(), cookies: cookies{random: cfg.Random}, memory: newMemory(cfg.InitsMax)}
	key, known := cfg.resetKey()
	if !known {
		if _, err := io.ReadFull(cfg.Random, key[:]); err != nil {
			return nil, err
		}
	}
	g.resets = newResets(key)
	return g, nil
}

// mode returns the mode for the configured keys.
func (c *Config) mode() wire.Mode {
	switch {
	case c.Identity != nil && c.Key != nil:
		return wire.ModeStaticShared
	case c.Identity != nil:
		return wire.ModeStatic
	case c.Key != nil:
		return wire.ModeNoise
	}
	return wire.ModeInsecure
}

// Mode says which kinds of keys there are.
func (g *Guard) Mode() wire.Mode { return g.mode }

// Renew checks other keys of the same kinds. use puts them into effect, for handshakes that begin from then on; it has to be called
// as the other methods are, and Renew may run beside them. Connections are not affected, but end by their time limits and not by a
// RESET if this side forgets them. ok is false if the keys are of other kinds, which the other sides could not know.
func (g *Guard) Renew(key *Key, id *Identity) (use func(), ok bool) {
	cfg := g.cfg // only use changes it
	cfg.Key, cfg.Identity = key, id
	if cfg.mode() != g.mode {
		return nil, false
	}
	mac := g.resets.mac // not the other fields: the old Guard still makes tokens with them
	if key, known := cfg.resetKey(); known {
		mac = newResets(key).mac
	}
	return func() { g.cfg, g.resets.mac = cfg, mac }, true
}

// resetKey returns the secret of our tokens; known is false if it must be random. A device that comes back under its name must have the same
// secret again. No other device may have it: a device with our secret that does not know our connections
// would tell any host that asks how to end them (RFC 9000, section 21.11). Without keys any host can
// compute it, as there is no protection then.
func (c *Config) resetKey() (key [keyBytes]byte, known bool) {
	switch {
	case !c.Listening || c.Name == "":
		return key, false
	case c.Identity != nil: // no other host can compute it then
		return c.Identity.Private.derive(c.resetInfo()), true
	case c.Key != nil:
		return c.Key.derive(c.resetInfo()), true
	}
	return expand(key, c.resetInfo()), true
}

func (c *Config) resetInfo() string {
	if c.Place == "" {
		return infoReset + c.Name
	}
	return infoReset + c.Name + infoPlace + c.Place
}

// shaker makes our part of one handshake. server is the static key of the side that we ask, if there are
// static keys.
func (g *Guard) shaker(server PublicKey) shaker {
	if g.mode == wire.ModeInsecure {
		return plainShaker{}
	}
	n := &noiseShaker{server: server, random: g.cfg.Random}
	info := infoHandshake
	if g.cfg.Identity != nil {
		n.static, info = g.cfg.Identity.Private, infoStatic
	}
	if g.cfg.Key != nil {
		psk := g.cfg.Key.derive(info)
		n.psk = psk[:]
	}
	return n
}
