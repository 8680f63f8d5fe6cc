package server

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// authentication checks that clients are allowed to act for the users in their credentials.
type authentication struct {
	keys     *credential.Keystore // nil: credentials are believed
	failures atomic.Uint64
	logged   atomic.Int64  // time of the last line in the log, in Unix seconds
	unlogged atomic.Uint64 // failures since then
}

// failureLogEvery is the shortest time between two lines in the log about failures: a stranger can cause any number of them.
const failureLogEvery = 10 * time.Second

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

// authenticate checks the signature of a client's credential. An empty address is that of a server, or of this process, which needs no
// signature. EPERM: the signature is missing or wrong.
func (s *Server) authenticate(c *proto.Credential, from string) error {
	if s.auth.keys == nil || from == "" {
		return nil
	}
	err := s.auth.keys.Verify(c)
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
