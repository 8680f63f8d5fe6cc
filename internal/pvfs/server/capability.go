package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// keys sign capabilities. Clients' capabilities and servers' own have different keys, so one is never taken for the other. Both
// empty: nothing is signed.
type keys struct{ client, server []byte }

// signs reports whether this server signs the capabilities that it issues, and verifies those that it receives.
func (s *Server) signs() bool { return len(s.keys.client) > 0 }

const (
	keyRecord   = "key" // in the store, of a file system of one server
	keyBytesMin = 16
)

// loadKeys takes the key of the configuration, or the one that this server keeps in its store.
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

// ownKey returns the key in the store, and makes it if there is none. If the store cannot be written, the key is for this run
// only.
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

// signature signs a whole capability.
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
func (s *Server) issue(q *query, o rights.Object, open bool, mask proto.OpMask, handles []proto.Handle) proto.Capability {
	issuer := issuerPrefix + s.cfg.Alias
	if s.signs() {
		issuer = s.issuerOf(rights.Issue{At: q.at, User: q.Who.UID, Groups: q.Who.Groups, Known: true, Open: open,
			SetsID: o.Type == proto.TypeMetafile && mask&proto.MayWrite != 0 && rights.SetsID(o.Mode) && !q.Who.Root()})
	}
	return s.capability(s.keys.client, issuer, mask, handles)
}

// renewed is the capability that the sender of a query showed, with the object's present handles. It must be for an open file or
// of the owner. false: there is none.
func (s *Server) renewed(q *query, owner uint32, handles []proto.Handle) (c proto.Capability, ok bool) {
	c = q.header.Capability
	if q.Shows.Proof != rights.Client || !s.signs() || !q.header.Hints.Opens() || len(c.Handles) == 0 || c.Handles[0] != handles[0] {
		return c, false
	}
	if is := q.Shows.Issue; !is.Open && !is.Of(owner) {
		return c, false
	}
	c.Mask, c.Handles = q.Shows.Mask, handles
	c.Signature = signature(s.keys.client, &c)
	return c, true
}

// serverCapability is the capability that this server sends to others with a request about some handles.
func (s *Server) serverCapability(handles ...proto.Handle) proto.Capability {
	return s.capability(s.keys.server, issuerPrefix+s.cfg.Alias, proto.MayAll, handles)
}

// ownRights are those that this server shows itself.
func (s *Server) ownRights(handles []proto.Handle) rights.Capability {
	return rights.Capability{Proof: rights.Server, Mask: proto.MayAll, Handles: handles, Issue: rights.Issue{Server: s.me}}
}

func (s *Server) capability(key []byte, issuer string, mask proto.OpMask, handles []proto.Handle) proto.Capability {
	c := proto.Capability{
		Issuer: issuer, FS: s.fs.ID, Mask: mask, Handles: handles,
		Timeout: s.clock().Add(s.fs.Security.CapabilityTimeout),
	}
	c.Signature = signature(key, &c)
	return c
}

// issuerPrefix comes before the alias of a server.
const issuerPrefix = "S:"

// checkCapability verifies the capability of a query and sets its trust. EAGAIN: it has expired, or its rights were withdrawn.
// EPERM: it was not issued in this file system.
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
	q.Shows = rights.Shown(rights.Client, c, s.issueOf(c))
	_, says := q.hint(proto.HintServerID)
	switch {
	case !s.signs():
		if says && c.Mask == proto.MayAll {
			q.Shows.Proof = rights.Server
		}
	case hmac.Equal(c.Signature, signature(s.keys.client, c)):
		if s.withdrawn(q.Shows) {
			s.refusals.Note(refusal.OldCapability, s.origin(q.peer))
			return proto.EAGAIN
		}
	case hmac.Equal(c.Signature, signature(s.keys.server, c)):
		q.Shows.Proof = rights.Server
	default:
		s.refusals.Note(refusal.ForgedCapability, s.origin(q.peer), "operation", int32(q.req.Op()))
		return proto.EPERM
	}
	if s.expired(c.Timeout) {
		if q.Shows.Proof == rights.Server {
			s.warnOfClock(c)
		}
		s.refusals.Note(refusal.OldCapability, s.origin(q.peer))
		return proto.EAGAIN
	}
	return nil
}

// warnOfClock logs once for each server that its capabilities arrive expired.
func (s *Server) warnOfClock(c *proto.Capability) {
	if _, known := s.behind.LoadOrStore(c.Issuer, true); !known {
		s.log.Warn("the capabilities of another server arrive expired: the clocks of the servers differ too much, and operations that need both will fail",
			"server", strings.TrimPrefix(c.Issuer, issuerPrefix), "ended", c.Timeout, "now", s.clock())
	}
}
