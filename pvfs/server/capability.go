package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

// trust is what a capability proves about who sent it.
type trust uint8

const (
	nothing trust = iota // there is none
	client               // somebody to whom a server of the file system gave it
	server               // a server of the file system
)

// keys sign capabilities: one for those that clients get, one for those that servers show one
// another, so that the one is never taken for the other. Both empty: nothing is signed.
type keys struct{ client, server []byte }

// signs reports whether what this server lets a client do is signed, and compared with the signature.
func (s *Server) signs() bool { return len(s.keys.client) > 0 }

const (
	keyRecord   = "key" // in the store, of a file system of one server
	keyBytesMin = 16
)

// loadKeys takes the key of the configuration, or the one this server keeps for itself.
func (s *Server) loadKeys() error {
	key := s.cfg.Key
	if len(key) == 0 && len(s.fs.Servers) == 1 {
		own, err := s.ownKey()
		if err != nil {
			return fmt.Errorf("server: the key of the file system: %w", err)
		}
		key = own
	}
	switch {
	case len(key) == 0:
		return nil
	case len(key) < keyBytesMin:
		return fmt.Errorf("server: a key of %d bytes, need at least %d", len(key), keyBytesMin)
	}
	s.keys = keys{derive(key, "viaduct pvfs client"), derive(key, "viaduct pvfs server")}
	return nil
}

// ownKey returns the key in the store, which it makes if there is none. A store that cannot be
// written has a key for this run only.
func (s *Server) ownKey() ([]byte, error) {
	var key []byte
	if err := s.store.View(func(tx *store.Tx) (err error) {
		key, err = tx.Record(keyRecord)
		return err
	}); err != nil || len(key) > 0 {
		return key, err
	}
	key = make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	err := s.store.Update(func(tx *store.Tx) error { return tx.SetRecord(keyRecord, key) })
	if proto.StatusOf(err) == proto.EROFS {
		err = nil
	}
	return key, err
}

func derive(key []byte, label string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(label))
	return m.Sum(nil)
}

// signature is of all of a capability.
func signature(key []byte, c *proto.Capability) []byte {
	if len(key) == 0 {
		return nil
	}
	var small [128]byte
	b := append(small[:0], c.Issuer...)
	b = append(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(c.FS))
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Timeout.Unix()))
	b = binary.LittleEndian.AppendUint32(b, uint32(c.Mask))
	for _, h := range c.Handles {
		b = binary.LittleEndian.AppendUint64(b, uint64(h))
	}
	m := hmac.New(sha256.New, key)
	m.Write(b)
	return m.Sum(nil)
}

// issue makes the capability that the sender of a query gets for some handles.
func (s *Server) issue(q *query, mask proto.OpMask, handles []proto.Handle) proto.Capability {
	issuer := issuerPrefix + s.cfg.Alias
	if s.signs() {
		issuer = s.issuerOf(issue{at: q.at, user: q.who.uid, open: q.header.Hints.Opens()})
	}
	return s.capability(s.keys.client, issuer, mask, handles)
}

// renewed is the capability for an open file, or of the owner, that the sender of a query showed, with the objects that there are by
// now. false: there is none.
func (s *Server) renewed(q *query, owner uint32, handles []proto.Handle) (c proto.Capability, ok bool) {
	c = q.header.Capability
	if q.trust != client || !s.signs() || !q.header.Hints.Opens() || len(c.Handles) == 0 || c.Handles[0] != handles[0] {
		return c, false
	}
	if is := s.issueOf(&c); !is.open && is.user != owner {
		return c, false
	}
	c.Handles = handles
	c.Signature = signature(s.keys.client, &c)
	return c, true
}

// serverCapability is what this server shows others with a request about some handles.
func (s *Server) serverCapability(handles ...proto.Handle) proto.Capability {
	return s.capability(s.keys.server, issuerPrefix+s.cfg.Alias, proto.MayAll, handles)
}

func (s *Server) capability(key []byte, issuer string, mask proto.OpMask, handles []proto.Handle) proto.Capability {
	c := proto.Capability{
		Issuer: issuer, FS: s.fs.ID, Mask: mask, Handles: handles,
		Timeout: s.clock().Add(s.fs.Security.CapabilityTimeout),
	}
	c.Signature = signature(key, &c)
	return c
}

// issuerPrefix is what servers put before their alias.
const issuerPrefix = "S:"

// checkCapability says what the capability of a query is worth. EAGAIN: it is too old, or what it allows was withdrawn; EPERM: nobody of
// this file system made it.
func (s *Server) checkCapability(q *query) error {
	c := &q.header.Capability
	if c.Issuer == "" && c.Mask == 0 {
		return nil
	}
	if len(c.Handles) > proto.MaxHandles {
		return proto.EINVAL
	}
	if c.FS != s.fs.ID {
		return proto.EPERM
	}
	q.trust = client
	_, says := q.hint(proto.HintServerID)
	switch {
	case !s.signs():
		if says && c.Mask == proto.MayAll {
			q.trust = server
		}
	case hmac.Equal(c.Signature, signature(s.keys.client, c)):
		if s.withdrawn(c) {
			s.refusals.Note(refusal.OldCapability, s.origin(q.peer))
			return proto.EAGAIN
		}
	case hmac.Equal(c.Signature, signature(s.keys.server, c)):
		q.trust = server
	default:
		s.refusals.Note(refusal.ForgedCapability, s.origin(q.peer), "operation", int32(q.req.Op()))
		return proto.EPERM
	}
	if s.expired(c.Timeout) {
		if q.trust == server {
			s.warnOfClock(c)
		}
		s.refusals.Note(refusal.OldCapability, s.origin(q.peer))
		return proto.EAGAIN
	}
	return nil
}

// warnOfClock says once that what another server shows is too old.
func (s *Server) warnOfClock(c *proto.Capability) {
	if _, known := s.behind.LoadOrStore(c.Issuer, true); !known {
		s.log.Warn("what another server signs is too old here: the clocks of the servers differ too much, and nothing that needs both will work",
			"server", strings.TrimPrefix(c.Issuer, issuerPrefix), "ended", c.Timeout, "now", s.clock())
	}
}
