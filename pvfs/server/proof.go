package server

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// proof is how clients prove for whom they ask.
type proof struct {
	keys    *credential.Keystore // nil: they need not
	refused atomic.Uint64        // requests without proof
	named   atomic.Int64         // when the log last named one, in Unix seconds
	quiet   atomic.Uint64        // how many it did not name since
}

// namedEvery is how often the log names a request that was refused for want of proof: strangers may send any number.
const namedEvery = 10 * time.Second

// loadKeystore takes the keys that clients sign with, or reads them from the file that the configuration names.
func (s *Server) loadKeystore() error {
	s.proof.keys = s.cfg.Keystore
	if name := s.fs.Security.KeyStore; s.proof.keys == nil && name != "" {
		keys, err := credential.ReadKeystore(name)
		if err != nil {
			return fmt.Errorf("%w: KeyStore: %w", ErrConfig, err)
		}
		s.proof.keys = keys
	}
	if s.proof.keys != nil && s.proof.keys.Clients() == 0 {
		s.log.Warn("the keystore has no key of a client (C:HOST): nobody will be believed", "KeyStore", s.fs.Security.KeyStore)
	}
	return nil
}

// prove checks that a client may speak for whom a credential names. EPERM: nobody known has signed that.
func (s *Server) prove(c *proto.Credential, from string) error {
	if s.proof.keys == nil || from == "" { // it is not from a client
		return nil
	}
	err := s.proof.keys.Verify(c)
	if err == nil {
		return nil
	}
	s.proof.refused.Add(1)
	now, last := s.clock().Unix(), s.proof.named.Load()
	if now-last < int64(namedEvery.Seconds()) || !s.proof.named.CompareAndSwap(last, now) {
		s.proof.quiet.Add(1)
		return proto.EPERM
	}
	s.log.Warn("a request is refused", "because", err, "client", from, "issuer", c.Issuer, "uid", c.User, "others since the last line", s.proof.quiet.Swap(0))
	return proto.EPERM
}
