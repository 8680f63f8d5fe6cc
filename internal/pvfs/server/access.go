package server

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// prepare makes the checks that all requests have in common, and finds the operation. It checks the client's network and port,
// the file system, credential and capability, admin mode, and read-only exports.
func (s *Server) prepare(ctx context.Context, peer bmi.Addr, h *proto.Header, req proto.Request) (*query, *operation, error) {
	code := req.Op()
	if code < 0 || int(code) >= len(table) || table[code] == nil {
		return nil, nil, proto.ENOSYS
	}
	op := table[code]
	f := fieldsOf(req)
	from := s.origin(peer)
	rules := s.rules.Load()
	if nets := rules.security.TrustedNetworks; len(nets) > 0 && from != "" && !nets.Match(from) {
		s.refusals.Note(refusal.Network, from, "operation", int32(code))
		return nil, nil, proto.EACCES
	}
	if f.hasFS && f.fs != s.fs.ID {
		return nil, nil, proto.EINVAL
	}
	q := &query{ctx: ctx, peer: peer, rules: rules, header: h, req: req}
	var err error
	if q.user, err = s.otherUser(peer, from); err != nil {
		return nil, nil, err
	}
	if err := s.checkCapability(q); err != nil {
		return nil, nil, err
	}
	if q.Server() {
		from = "" // rules for clients do not apply to servers
	}
	if err := s.checkHolder(q, from); err != nil {
		return nil, nil, err
	}
	if !rules.trustedPort(from) {
		s.refusals.Note(refusal.Network, from, "operation", int32(code))
		return nil, nil, proto.EACCES
	}
	if op.changes != nil && op.changes(req) {
		if !op.manages && s.admin.mode.Load() == modeAdmin {
			s.refusals.Note(refusal.AdminMode, from)
			return nil, nil, proto.EAGAIN
		}
		if rules.export.ReadOnly.Match(from) {
			s.refusals.Note(refusal.ReadOnly, from, "operation", int32(code))
			return nil, nil, proto.EROFS
		}
	}
	if f.cred != nil {
		if err := s.identify(q, f.cred, from); err != nil {
			return nil, nil, err
		}
	}
	return q, op, nil
}

// origin is a client's address as patterns match it: the source of its packets. It is empty for a request of this process.
func (s *Server) origin(peer bmi.Addr) string {
	if peer.IsZero() {
		return ""
	}
	text := peer.String()
	if ep := s.ep.Load(); ep != nil {
		if source := ep.SourceAddr(peer); source.IsValid() {
			scheme, _, _ := strings.Cut(text, "://")
			return scheme + "://" + source.String()
		}
	}
	return text
}

// trustedPort reports whether a client's port is one of TrustedPorts. An address without a port is trusted.
func (r *rules) trustedPort(from string) bool {
	sec := r.security
	if sec.TrustedPortFirst == 0 && sec.TrustedPortLast == 0 {
		return true
	}
	_, address, _ := strings.Cut(from, "://")
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return true
	}
	port, err := strconv.Atoi(text)
	return err == nil && sec.TrustedPortFirst <= port && port <= sec.TrustedPortLast
}

// identify takes the identity from a credential. If the identity is squashed, it changes the owner in requests that name one.
func (s *Server) identify(q *query, c *proto.Credential, from string) error {
	if len(c.Groups) == 0 || len(c.Groups) > proto.MaxGroups {
		return proto.EINVAL
	}
	q.Who = rights.Identity{UID: c.User, Groups: c.Groups}
	if err := s.authenticate(q, c, from); err != nil {
		return err // also if it has expired: a new capability would not help
	}
	if s.expired(c.Timeout) {
		s.refusals.Note(refusal.OldCredential, s.origin(q.peer), "uid", c.User, "ended", c.Timeout)
		return proto.EAGAIN
	}
	s.admin.users.note(q.Who.UID, s.clock())
	e := q.rules.export
	switch {
	case from == "": // not from a client
		return nil
	case e.AllSquash.Match(from):
	case q.Who.Rootly() && e.RootSquash.Match(from) && !e.RootSquashExceptions.Match(from):
	default:
		return nil
	}
	q.Who = rights.Identity{UID: e.AnonUID, Groups: []uint32{e.AnonGID}}
	c.User, c.Groups = q.Who.UID, q.Who.Groups
	if a := ownerOf(q.req); a != nil {
		a.Owner, a.Group = e.AnonUID, e.AnonGID
	}
	return nil
}

// expired reports whether an expiry time has passed.
func (s *Server) expired(at time.Time) bool {
	if s.fs.Security.TurnOffTimeouts || s.admin.noTimeouts.Load() {
		return false
	}
	return s.clock().After(at)
}

// group is the group of a new object that the query makes: the one of its hint, or the first of the credential. EPERM: the
// credential does not have the group of the hint.
func (q *query) group() (uint32, error) {
	for _, h := range q.header.Hints {
		if h.Type == proto.HintOwnerGID && uint32(h.Value) != rights.Anybody {
			if g := uint32(h.Value); q.Who.UID == 0 || q.Who.In(g) {
				return g, nil
			}
			if q.certified && len(q.Who.Groups) > 0 {
				break // the client does not know the groups of its certificate, and names a group of its own machine
			}
			return 0, proto.EPERM
		}
	}
	if len(q.Who.Groups) == 0 {
		return 0, proto.EINVAL
	}
	return q.Who.Groups[0], nil
}

// hint returns the value of a hint of a type.
func (q *query) hint(t proto.HintType) (uint64, bool) {
	for _, h := range q.header.Hints {
		if h.Type == t {
			return h.Value, true
		}
	}
	return 0, false
}

// near is the metafile or parent that the request names in its hint; 0 if there is none.
func (q *query) near() proto.Handle {
	v, _ := q.hint(proto.HintHandle)
	return proto.Handle(v)
}

// parent is the directory of the hint as an argument for may; empty if there is no hint.
func (q *query) parent() []proto.Handle {
	if near := q.near(); near != 0 {
		return []proto.Handle{near}
	}
	return nil
}

// may checks that the capability lists all these handles and allows at least one of the rights: EACCES. A right of 0 is always
// given. A request with the null capability may do only what needs no right.
func (q *query) may(need proto.OpMask, handles ...proto.Handle) error {
	if !q.Shows.Any(need, handles...) {
		return proto.EACCES
	}
	return nil
}

// mayAll is may, but the capability must allow all these rights.
func (q *query) mayAll(need proto.OpMask, handles ...proto.Handle) error {
	if !q.Shows.All(need, handles...) {
		return proto.EACCES
	}
	return nil
}

// mayBeFromServer reports whether a request comes from another server, or looks like one of a stock server. A stock server shows
// only a capability for everything, which is believed only in a file system without a key.
func (s *Server) mayBeFromServer(q *query) bool {
	return q.Server() || !s.signs() && q.header.Capability.Mask == proto.MayAll
}
