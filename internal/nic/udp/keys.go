package udp

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Environment variables that a Provider without options reads. Keys are never taken from a command
// line, which every process of the machine can read.
const (
	// KeyFileEnv is the file with the shared key.
	KeyFileEnv = "VIADUCT_UDP_KEY_FILE"
	// KeyEnv is the shared key itself.
	KeyEnv = "VIADUCT_UDP_KEY"
	// PrivateFileEnv is the file with the private key of this endpoint.
	PrivateFileEnv = "VIADUCT_UDP_PRIVATE_KEY_FILE"
	// ClientsFileEnv is the file with the public keys of endpoints that may connect.
	ClientsFileEnv = "VIADUCT_UDP_CLIENTS_FILE"
	// ServersFileEnv is the file with the public keys of endpoints to connect to.
	ServersFileEnv = "VIADUCT_UDP_SERVERS_FILE"
	// InsecureEnv, set to 1 (0 means the same as unset), opens devices without a key: any host that
	// can send datagrams to them can connect to them and read their messages.
	InsecureEnv = "VIADUCT_UDP_INSECURE"
	// DataPortEnv is the UDP port of the data lane of devices that listen, for firewalls that must
	// know it. The other lane has the port of the address.
	DataPortEnv = "VIADUCT_UDP_DATA_PORT"
)

// keys are the keys of one device.
type keys struct {
	shared   *secure.Key      // nil: none
	identity *secure.Identity // nil: none
}

// WithKey implements nic.Keyed.
func (p Provider) WithKey(key nic.Key) (nic.Provider, error) {
	if len(key) != nic.KeyBytes {
		return nil, fmt.Errorf("udp: a shared key of %d bytes, want %d random ones", len(key), nic.KeyBytes)
	}
	p.Key, p.Insecure = secure.Source{Text: hex.EncodeToString(key)}, false
	_, err := secure.LoadKey(p.Key)
	return p, err
}

// WithIdentity implements nic.Identified.
func (p Provider) WithIdentity(id nic.Identity) (nic.Provider, error) {
	p.Identity = secure.IdentitySource{
		PrivateFile: id.PrivateFile, Private: id.Private,
		ClientsFile: id.ClientsFile, Clients: id.Clients, ServersFile: id.ServersFile, Servers: id.Servers,
	}
	p.Insecure = false
	_, err := p.Identity.Load()
	return p, err
}

// Errors that say what to do.
var (
	errNoKey = fmt.Errorf("udp: connections need a key that all sides share: put one into a file (head -c 32 /dev/urandom | base64 > FILE; chmod 600 FILE) and set %s=FILE, or a key for each side (bmi genkey), or set %s=1 to go without; then every host that can send datagrams here may connect",
		KeyFileEnv, InsecureEnv)
	errNoPrivate = fmt.Errorf("udp: %s and %s need a private key of this side, too: make one with bmi genkey NAME and set %s to its file", ClientsFileEnv, ServersFileEnv, PrivateFileEnv)
	errNoClients = fmt.Errorf("udp: a listener with its own key needs the public keys of the clients that may connect: set %s to a file of lines NAME KEY", ClientsFileEnv)
)

// sources are where the keys of a device come from: the options, or else the environment.
func (p Provider) sources() (source secure.Source, ids secure.IdentitySource, insecure bool, err error) {
	source, ids, insecure = p.Key, p.Identity, p.Insecure
	if source == (secure.Source{}) && ids.Empty() && !insecure {
		source = secure.Source{File: environ.Getenv(KeyFileEnv), Text: environ.Getenv(KeyEnv)}
		ids = secure.IdentitySource{PrivateFile: environ.Getenv(PrivateFileEnv), ClientsFile: environ.Getenv(ClientsFileEnv), ServersFile: environ.Getenv(ServersFileEnv)}
		insecure, err = insecureByEnvironment()
	}
	return source, ids, insecure, err
}

// keys finds the keys of a device.
func (p Provider) keys(listens bool) (k keys, err error) {
	source, ids, insecure, err := p.sources()
	if err != nil {
		return keys{}, err
	}
	if insecure {
		switch {
		case source != (secure.Source{}):
			return keys{}, fmt.Errorf("udp: a shared key is given, and to go without one (%s): choose one", InsecureEnv)
		case !ids.Empty():
			return keys{}, fmt.Errorf("udp: a key of this side is given, and to go without one (%s): choose one", InsecureEnv)
		}
		return keys{}, nil
	}
	if !ids.Empty() {
		if k.identity, err = ids.Load(); errors.Is(err, secure.ErrNoPrivateKey) {
			return keys{}, errNoPrivate
		} else if err != nil {
			return keys{}, err
		}
		if listens && k.identity.Clients == nil {
			return keys{}, errNoClients
		}
	}
	switch k.shared, err = secure.LoadKey(source); {
	case err == nil:
		return k, nil
	case !errors.Is(err, secure.ErrNoKey):
		return keys{}, fmt.Errorf("udp: %s: %w", givenBy(p.Key, source), err)
	case k.identity == nil:
		return keys{}, errNoKey
	}
	return k, nil
}

// givenBy names the option or variable that gave a shared key.
func givenBy(option, source secure.Source) string {
	switch {
	case option != (secure.Source{}):
		return "Provider.Key"
	case source.File != "" && source.Text != "":
		return KeyFileEnv + " and " + KeyEnv
	case source.File != "":
		return KeyFileEnv
	}
	return KeyEnv
}

// insecureByEnvironment reads InsecureEnv.
func insecureByEnvironment() (bool, error) {
	switch value := environ.Getenv(InsecureEnv); value {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	default:
		return false, fmt.Errorf("udp: %s is %q: set it to 1 to go without a key, or not at all", InsecureEnv, value)
	}
}
