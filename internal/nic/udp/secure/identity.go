package secure

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/keyfile"
	"github.com/viaduct-hpc/viaduct/internal/sharedkey"
)

// An Identity has the private key of an endpoint and the public keys of its peers.
type Identity struct {
	Private *PrivateKey
	Clients *Clients // nil: no endpoint may connect
	Servers *Servers // nil: it cannot connect to any endpoint
}

// Name is the name of the other side with a key; "" if it is not in the list of clients.
func (i *Identity) Name(key PublicKey) string { return i.Clients.Name(key) }

// An IdentitySource says where the parts of an Identity are: each in a file, or given directly.
type IdentitySource struct {
	// PrivateFile is the file of the private key, which must be readable only by its owner.
	PrivateFile string
	// Private is the private key itself, 32 random bytes.
	Private []byte `json:"-"` // keeps it out of logs
	// ClientsFile is the file of the clients' public keys; Clients is its contents. Only root and this user
	// may be able to change the file.
	ClientsFile, Clients string
	// ServersFile is the file of the servers' public keys; Servers is its contents.
	ServersFile, Servers string
}

// Empty reports whether nothing is set.
func (s *IdentitySource) Empty() bool {
	return s.PrivateFile == "" && s.Private == nil && s.ClientsFile == "" && s.Clients == "" && s.ServersFile == "" && s.Servers == ""
}

// ErrNoPrivateKey: public keys of peers are given, but no private key. The caller knows how to give one.
var ErrNoPrivateKey = errors.New("secure: public keys are given, and no private key of this side")

// Load reads all parts. Its errors say what to do, and never show the private key.
func (s *IdentitySource) Load() (id *Identity, err error) {
	id = &Identity{}
	if id.Private, err = s.private(); err != nil {
		return nil, err
	}
	if id.Clients, err = load(s.ClientsFile, s.Clients, "clients", ParseClients); err != nil {
		return nil, err
	}
	if id.Servers, err = load(s.ServersFile, s.Servers, "servers", ParseServers); err != nil {
		return nil, err
	}
	return id, nil
}

func (s *IdentitySource) private() (*PrivateKey, error) {
	switch {
	case s.PrivateFile != "" && s.Private != nil:
		return nil, errors.New("secure: a private key and a file with one are both given; choose one")
	case s.PrivateFile != "":
		text, err := keyfile.Secret(s.PrivateFile, sharedkey.FileBytesMax)
		if err != nil {
			return nil, fmt.Errorf("secure: private key: %w", err)
		}
		defer clear(text)
		key, err := parsePrivateKey(text)
		if err != nil {
			return nil, fmt.Errorf("secure: private key %s: %w", s.PrivateFile, err)
		}
		return key, nil
	case s.Private != nil:
		key, err := privateKey(s.Private)
		if err != nil {
			return nil, fmt.Errorf("secure: private key: %w", err)
		}
		return key, nil
	}
	return nil, ErrNoPrivateKey
}

// load reads a list of public keys from its file or text; nil if there is neither.
func load[T any](file, text, what string, parse func([]byte) (*T, error)) (*T, error) {
	switch {
	case file != "" && text != "":
		return nil, fmt.Errorf("secure: public keys of %s and a file with them are both given; choose one", what)
	case file != "":
		b, err := keyfile.Trusted(file, PublicFileBytesMax)
		if err != nil {
			return nil, fmt.Errorf("secure: public keys of %s: %w", what, err)
		}
		list, err := parse(b)
		if err != nil {
			return nil, fmt.Errorf("secure: public keys of %s: %s: %w", what, file, err)
		}
		return list, nil
	case text != "":
		list, err := parse([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("secure: public keys of %s: %w", what, err)
		}
		return list, nil
	}
	return nil, nil
}

// Format prints the names of the files, and keeps the private key out of logs.
func (s IdentitySource) Format(f fmt.State, _ rune) {
	private := ""
	if s.Private != nil {
		private = "hidden"
	}
	_, _ = fmt.Fprintf(f, "IdentitySource(private %q %q, clients %q, servers %q)", s.PrivateFile, private, s.ClientsFile, s.ServersFile)
}
