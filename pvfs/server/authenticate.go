package server

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/refusal"
)

// errNoName is for a client that neither signs credentials nor has authenticated itself to its method.
var errNoName = errors.New("the client has neither a key in the keystore nor one of its method (a certificate, or a static key)")

// loadKeystore is the keystore of Config, or reads the file that a configuration names. nil: credentials need no signature.
func (s *Server) loadKeystore(fs *config.Config) (keys *credential.Keystore, err error) {
	keys = s.cfg.Keystore
	if name := fs.Security.KeyStore; keys == nil && name != "" {
		if keys, err = credential.ReadKeystore(name); err != nil {
			return nil, fmt.Errorf("%w: KeyStore: %w", ErrConfig, err)
		}
	}
	if keys != nil && keys.Clients() == 0 {
		s.log.Warn("the keystore has no client's key (C:HOST): every client will be refused", "KeyStore", fs.Security.KeyStore)
	}
	return keys, nil
}

// authenticate checks that a client may act for the user in its credential. An empty address is that of a server, or of this process,
// which may act for all. EPERM.
func (s *Server) authenticate(q *query, c *proto.Credential, from string) error {
	if from == "" || q.rules.keys == nil && q.rules.identities == nil {
		return nil
	}
	client, err := s.clientOf(q, c)
	if err == nil && q.rules.identities != nil {
		err = q.rules.identities.Allow(client, c)
	}
	if err == nil {
		return nil
	}
	s.refusals.Note(refusal.Authentication, from, "reason", err, "issuer", c.Issuer, "uid", c.User)
	return proto.EPERM
}

// clientOf is the name of the client that sent a credential: by its signature, or by the name that it has proved to its method if Identities say for
// which users that is good.
func (s *Server) clientOf(q *query, c *proto.Credential) (string, error) {
	if q.rules.keys != nil && (len(c.Signature) > 0 || q.rules.identities == nil) {
		return credential.Client(c), q.rules.keys.Verify(c)
	}
	if ep := s.ep.Load(); ep != nil {
		if name := ep.AuthenticatedName(q.peer); name != "" {
			return name, nil
		}
	}
	return "", errNoName
}
