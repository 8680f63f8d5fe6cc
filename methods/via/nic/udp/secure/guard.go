package secure

import (
	"crypto/rand"
	"fmt"
	"io"

	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// A Config says what a Guard stands for. The zero value is an insecure device
// that nobody can connect to.
type Config struct {
	// Key is what all sides share; nil: nothing. Without Key and Identity the device is insecure.
	Key *Key
	// Identity are the static keys of this side and of those it knows; nil: none.
	Identity *Identity
	// Listening: requests of others are looked at, not refused.
	Listening bool
	// Name is our address, at most wire.NameMax bytes. Of a listening device
	// it must be the same after a restart, for that is how peers recognise
	// the RESETs of its next life.
	Name string
	// Place tells machines apart that have devices of the same name, as one
	// that listens at all addresses has; empty where the name does that.
	Place string
	// Random is where keys and nonces come from; nil: the system's. Only
	// simulation gives another.
	Random io.Reader
	// Ciphers are those that are fast here; 0: as the CPU says.
	Ciphers wire.Ciphers
	// InitsMax is how many INITs are remembered; 0: InitsMax.
	InitsMax int
}

// A Guard is one device's part in all handshakes.
type Guard struct {
	cfg       Config
	mode      wire.Mode
	cookies   cookies
	memory    memory
	resets    resets
	strangers strangers
}

// A Peer is what a handshake came to.
type Peer struct {
	Session Session
	ID      uint32     // what the other side wants to be called by
	Port    uint16     // UDP port of the other side's data lane
	Token   wire.Token // of a RESET from the other side
	// Cipher protects the packets; 0: none, it is insecure.
	Cipher wire.Ciphers
	// Name is that of the other side's static key in the list of clients; "" if it has no such key or is
	// not in the list. Of a side that was accepted it is proved once Session has opened a packet.
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
	key, err := g.resetKey()
	if err != nil {
		return nil, err
	}
	g.resets = newResets(key)
	return g, nil
}

// mode follows from the keys.
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

// Mode says which keys there are.
func (g *Guard) Mode() wire.Mode { return g.mode }

// resetKey makes the secret of our tokens. A device that comes back under its
// name has the same again. Nobody else may: a device with our secret that knows
// nothing of our connections would tell whoever asks how to end them (RFC 9000,
// section 21.11). Without a key anybody can compute it, as anybody can
// do everything then.
func (g *Guard) resetKey() (key [keyBytes]byte, err error) {
	switch {
	case !g.cfg.Listening || g.cfg.Name == "":
		_, err = io.ReadFull(g.cfg.Random, key[:])
		return key, err
	case g.cfg.Identity != nil: // nobody else can compute it then
		return g.cfg.Identity.Private.derive(g.resetInfo()), nil
	case g.cfg.Key != nil:
		return g.cfg.Key.derive(g.resetInfo()), nil
	}
	return expand(key, g.resetInfo()), nil
}

func (g *Guard) resetInfo() string {
	if g.cfg.Place == "" {
		return infoReset + g.cfg.Name
	}
	return infoReset + g.cfg.Name + infoPlace + g.cfg.Place
}

// shaker makes our part in one handshake. server is the static key of the side that we ask, if there
// are static keys.
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
