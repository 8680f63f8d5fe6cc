package udp

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/dgram/kernel"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/reliable"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/secure"
)

// Environment variables that a Provider without options looks at. Keys are never
// taken from a command line, where every process of the machine can read them.
const (
	// KeyFileEnv names a file with the shared key.
	KeyFileEnv = "VIADUCT_UDP_KEY_FILE"
	// KeyEnv is the shared key itself.
	KeyEnv = "VIADUCT_UDP_KEY"
	// InsecureEnv, set to 1 (0 is as good as not set), opens devices without a key: whoever can send
	// datagrams to them can connect to them and read what they say.
	InsecureEnv = "VIADUCT_UDP_INSECURE"
	// DataPortEnv is the UDP port of the data lane of devices that listen, where a
	// firewall must know it; the other lane has the port of the address.
	DataPortEnv = "VIADUCT_UDP_DATA_PORT"
)

// A Provider opens devices. The zero value takes its key from the environment.
type Provider struct {
	// Key is the key that all sides share; its zero value means the one of
	// the environment.
	Key secure.Source
	// Insecure opens devices without a key. It cannot be had together with one.
	Insecure bool
	// DataPort is the UDP port of the data lane, of a device that listens; 0: the
	// one of the environment, or any.
	DataPort uint16
	// Datagrams opens what carries the datagrams; nil: sockets of the kernel.
	Datagrams func() (dgram.Device, error)
	// Congestion makes the congestion control of a connection's data lane;
	// nil: reliable.NewDelay.
	Congestion func() reliable.Congestion
	// PacketBytes bounds a UDP payload, whatever the path lets through; 0: the
	// path alone does.
	PacketBytes int
	// GiveUp is how long a peer may be silent while something waits for it; 0:
	// the constant of that name.
	GiveUp time.Duration
	// AckDelay and the others are those of reliable.Options; 0 means its
	// defaults.
	AckDelay, TimeoutMin, TimeoutMax time.Duration
	// KeepAlive asks a peer that has been silent for so long for a sign of
	// life; 0: the constant of that name, < 0: never.
	KeepAlive time.Duration
	// CloseDrain is how long closing a device waits until what it sent is
	// acknowledged; 0: the constant of that name, < 0: it does not wait.
	CloseDrain time.Duration
	// Random is where keys and numbers come from; nil: the system. Only
	// simulation gives another.
	Random io.Reader
}

var _ nic.Keyed = Provider{}

// Name implements nic.Provider.
func (Provider) Name() string { return "udp" }

// WithKey implements nic.Keyed.
func (p Provider) WithKey(key nic.Key) (nic.Provider, error) {
	if len(key) != nic.KeyBytes {
		return nil, fmt.Errorf("udp: a shared key of %d bytes, want %d random ones", len(key), nic.KeyBytes)
	}
	p.Key, p.Insecure = secure.Source{Text: hex.EncodeToString(key)}, false
	_, err := p.Key.Load()
	return p, err
}

// errNoKey says what to do.
var errNoKey = fmt.Errorf("udp: connections need a key that all sides share: put one into a file (head -c 32 /dev/urandom | base64 > FILE; chmod 600 FILE) and set %s=FILE, or set %s=1 to go without, which lets anybody in who can send datagrams here",
	KeyFileEnv, InsecureEnv)

// key finds the key; nil means to go without.
func (p Provider) key() (*secure.Key, error) {
	source, insecure := p.Key, p.Insecure
	if source == (secure.Source{}) && !insecure {
		source = secure.Source{File: os.Getenv(KeyFileEnv), Text: os.Getenv(KeyEnv)}
		switch value := os.Getenv(InsecureEnv); value {
		case "", "0":
		case "1":
			insecure = true
		default:
			return nil, fmt.Errorf("udp: %s is %q: set it to 1 to go without a key, or not at all", InsecureEnv, value)
		}
	}
	if insecure {
		if source != (secure.Source{}) {
			return nil, fmt.Errorf("udp: a shared key is given, and to go without one (%s): choose one", InsecureEnv)
		}
		return nil, nil
	}
	key, err := source.Load()
	if errors.Is(err, secure.ErrNoKey) {
		return nil, errNoKey
	}
	return key, err
}

// dataPort finds the port of the data lane of a device that listens; 0 means any.
func (p Provider) dataPort() (uint16, error) {
	text := os.Getenv(DataPortEnv)
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
	key, err := p.key()
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
	d, err := newDevice(p, cfg, key, datagrams)
	if err != nil {
		return nil, errors.Join(err, datagrams.Close())
	}
	if d.sleeper != nil {
		return sleeping{d}, nil
	}
	return d, nil
}
