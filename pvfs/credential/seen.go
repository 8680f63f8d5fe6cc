package credential

import (
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// seenMax is how many verified credentials are cached. There may be up to twice as many.
const seenMax = 4096

// A mark is a digest of a credential and its signature.
type mark [sha256.Size]byte

func markOf(c *proto.Credential) mark {
	var room [1024]byte
	b := append(c.AppendSigned(room[:0]), c.Signature...)
	return sha256.Sum256(binary.LittleEndian.AppendUint32(b, uint32(len(c.Signature)))) // the length separates issuer and signature
}

// seen caches credentials with a valid signature, in two generations. When the young generation is full, it becomes the old one,
// and the previous old one is dropped.
type seen struct {
	mu         sync.RWMutex
	young, old map[mark]struct{}
}

func (s *seen) has(m mark) bool {
	s.mu.RLock()
	_, young := s.young[m]
	_, old := s.old[m]
	s.mu.RUnlock()
	if old && !young {
		s.add(m)
	}
	return young || old
}

func (s *seen) add(m mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.young == nil || len(s.young) >= seenMax {
		s.young, s.old = make(map[mark]struct{}), s.young
	}
	s.young[m] = struct{}{}
}

// Checker verifies credentials with keys that are not in a keystore, and caches the valid ones. It may be used by any goroutine.
type Checker struct{ seen seen }

// Verify is VerifyWith for a key. id identifies the key.
func (k *Checker) Verify(key *rsa.PublicKey, id [sha256.Size]byte, c *proto.Credential) error {
	m := markOf(c)
	m = sha256.Sum256(append(m[:], id[:]...))
	if k.seen.has(m) {
		return nil
	}
	if err := VerifyWith(key, c); err != nil {
		return err
	}
	k.seen.add(m)
	return nil
}
