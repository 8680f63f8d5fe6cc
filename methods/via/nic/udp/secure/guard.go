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
	// Key is what all sides share; nil: insecure.
	Key *Key
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
	cfg     Config
	mode    wire.Mode
	psk     [keyBytes]byte
	cookies cookies
	memory  memory
	resets  resets
}

// A Peer is what a handshake came to.
type Peer struct {
	Session Session
	ID      uint32     // what the other side wants to be called by
	Port    uint16     // UDP port of the other side's data lane
	Token   wire.Token // of a RESET from the other side
	// Cipher protects the packets; 0: none, it is insecure.
	Cipher wire.Ciphers
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
	g := &Guard{cfg: cfg, mode: wire.ModeInsecure, cookies: cookies{random: cfg.Random}, memory: newMemory(cfg.InitsMax)}
	if cfg.Key != nil {
		g.mode, g.psk = wire.ModeNoise, cfg.Key.derive(infoHandshake)
	}
	key, err := g.resetKey()
	if err != nil {
		return nil, err
	}
	g.resets = newResets(key)
	return g, nil
}

// Mode says whether there is a key.
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

// shaker makes our part in one handshake.
func (g *Guard) shaker() shaker {
	if g.mode == wire.ModeInsecure {
		return plainShaker{}
	}
	return &noiseShaker{psk: g.psk, random: g.cfg.Random}
}
