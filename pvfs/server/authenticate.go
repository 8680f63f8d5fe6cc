package server

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// authentication counts clients that may not act for the users in their credentials.
type authentication struct {
	failures atomic.Uint64
	logged   atomic.Int64  // time of the last line in the log, in Unix seconds
	unlogged atomic.Uint64 // failures since then
	issued   atomic.Uint64 // certificates of users
}

// failureLogEvery is the shortest time between two lines in the log about failures: a stranger can cause any number of them.
const failureLogEvery = 10 * time.Second

// errNoName is for a client that neither signs credentials nor has authenticated itself to its method.
var errNoName = errors.New("the client has neither a key in the keystore nor a certificate")

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

// authenticate checks that a client may act for the user in its credential, or finds the user of its certificate. An empty address is that of a server, or of this process,
// which may act for all. EPERM.
func (s *Server) authenticate(q *query, c *proto.Credential, from string) error {
	if from == "" || q.rules.keys == nil && q.rules.identities == nil && q.rules.certs == nil {
		return nil
	}
	if q.rules.certs != nil && len(c.Certificate) > 0 {
		return s.certify(q, c, from)
	}
	client, err := s.clientOf(q, c)
	if err == nil && q.rules.identities != nil {
		err = q.rules.identities.Allow(client, c)
	}
	if err == nil {
		return nil
	}
	return s.refused(err, from, "issuer", c.Issuer, "uid", c.User)
}

// refused counts a failure, and logs it, but not too often. It is EPERM.
func (s *Server) refused(reason error, from string, about ...any) error {
	s.auth.failures.Add(1)
	now, last := s.clock().Unix(), s.auth.logged.Load()
	if now-last < int64(failureLogEvery.Seconds()) || !s.auth.logged.CompareAndSwap(last, now) {
		s.auth.unlogged.Add(1)
		return proto.EPERM
	}
	about = append([]any{"reason", reason, "client", from, "failures not logged before", s.auth.unlogged.Swap(0)}, about...)
	s.log.Warn("authentication failed", about...)
	return proto.EPERM
}

// clientOf is the name of the client that sent a credential: by its signature, or by the client's certificate if Identities say for
// which users that is good.
func (s *Server) clientOf(q *query, c *proto.Credential) (string, error) {
	if q.rules.keys != nil && (len(c.Signature) > 0 || q.rules.identities == nil) {
		return credential.Client(c), q.rules.keys.Verify(c)
	}
	if q.rules.identities == nil { // so a certificate of users is what it takes
		return "", usercert.ErrMissing
	}
	if ep := s.ep.Load(); ep != nil {
		if name := ep.AuthenticatedName(q.peer); name != "" {
			return name, nil
		}
	}
	return "", errNoName
}
