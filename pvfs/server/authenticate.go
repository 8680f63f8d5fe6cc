package server

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// authentication checks that clients are allowed to act for the users in their credentials.
type authentication struct {
	keys     *credential.Keystore // nil: credentials need no signature
	failures atomic.Uint64
	logged   atomic.Int64  // time of the last line in the log, in Unix seconds
	unlogged atomic.Uint64 // failures since then
}

// failureLogEvery is the shortest time between two lines in the log about failures: a stranger can cause any number of them.
const failureLogEvery = 10 * time.Second

// errNoName is for a client that neither signs credentials nor has authenticated itself to its method.
var errNoName = errors.New("the client has neither a key in the keystore nor a certificate")

// loadKeystore sets the keystore to that of Config, or reads it from the file that the configuration names.
func (s *Server) loadKeystore() error {
	s.auth.keys = s.cfg.Keystore
	if name := s.fs.Security.KeyStore; s.auth.keys == nil && name != "" {
		keys, err := credential.ReadKeystore(name)
		if err != nil {
			return fmt.Errorf("%w: KeyStore: %w", ErrConfig, err)
		}
		s.auth.keys = keys
	}
	if s.auth.keys != nil && s.auth.keys.Clients() == 0 {
		s.log.Warn("the keystore has no client's key (C:HOST): every client will be refused", "KeyStore", s.fs.Security.KeyStore)
	}
	return nil
}

// authenticate checks that a client may act for the user in its credential. An empty address is that of a server, or of this process,
// which may act for all. EPERM.
func (s *Server) authenticate(peer bmi.Addr, c *proto.Credential, from string) error {
	if from == "" || s.auth.keys == nil && s.cfg.Identities == nil {
		return nil
	}
	client, err := s.clientOf(peer, c)
	if err == nil && s.cfg.Identities != nil {
		err = s.cfg.Identities.Allow(client, c)
	}
	if err == nil {
		return nil
	}
	s.auth.failures.Add(1)
	now, last := s.clock().Unix(), s.auth.logged.Load()
	if now-last < int64(failureLogEvery.Seconds()) || !s.auth.logged.CompareAndSwap(last, now) {
		s.auth.unlogged.Add(1)
		return proto.EPERM
	}
	s.log.Warn("authentication failed", "reason", err, "client", from, "issuer", c.Issuer, "uid", c.User, "failures not logged before", s.auth.unlogged.Swap(0))
	return proto.EPERM
}

// clientOf is the name of the client that sent a credential: by its signature, or by the client's certificate if Identities say for
// which users that is good.
func (s *Server) clientOf(peer bmi.Addr, c *proto.Credential) (string, error) {
	if s.auth.keys != nil && (len(c.Signature) > 0 || s.cfg.Identities == nil) {
		return credential.Client(c), s.auth.keys.Verify(c)
	}
	if ep := s.ep.Load(); ep != nil {
		if name := ep.AuthenticatedName(peer); name != "" {
			return name, nil
		}
	}
	return "", errNoName
}
