package server

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/refusal"
)

// An identity is the user that a request is carried out for. Without groups it is nobody.
type identity struct {
	uid    uint32
	groups []uint32 // the first is the primary one
}

// root reports whether it is the user with all rights.
func (who identity) root() bool { return len(who.groups) > 0 && who.uid == 0 }

// in reports whether a group is one of its groups.
func (who identity) in(group uint32) bool { return slices.Contains(who.groups, group) }

// prepare does the checks that all requests have in common, and finds the operation. It checks the client's network and port, the file
// system, credential and capability, admin mode, and read-only exports.
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
	if q.fromServer() {
		from = "" // what is said of clients is not meant for servers
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

// origin is a client's address as patterns match it: where its packets come from. It is empty for a request of the process itself.
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

// trustedPort reports whether a client's port is one that clients may come from. What has no ports is trusted.
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

// identify takes the identity from a credential. It changes the requests that name an owner, where
// the identity is squashed.
func (s *Server) identify(q *query, c *proto.Credential, from string) error {
	if len(c.Groups) == 0 || len(c.Groups) > proto.MaxGroups {
		return proto.EINVAL
	}
	q.who = identity{c.User, c.Groups}
	if err := s.authenticate(q, c, from); err != nil {
		return err // also if it has expired: a new one would not be better
	}
	if s.expired(c.Timeout) {
		s.refusals.Note(refusal.OldCredential, s.origin(q.peer), "uid", c.User, "ended", c.Timeout)
		return proto.EAGAIN
	}
	s.admin.users.note(q.who.uid, s.clock())
	e := q.rules.export
	rootly := q.who.uid == 0 || q.who.groups[0] == 0
	switch {
	case from == "": // not from a client
		return nil
	case e.AllSquash.Match(from):
	case rootly && e.RootSquash.Match(from) && !e.RootSquashExceptions.Match(from):
	default:
		return nil
	}
	q.who = identity{e.AnonUID, []uint32{e.AnonGID}}
	squashed := *c
	squashed.User, squashed.Groups = e.AnonUID, q.who.groups
	*c = squashed
	if a := ownerOf(q.req); a != nil {
		a.Owner, a.Group = e.AnonUID, e.AnonGID
	}
	return nil
}

// expired reports whether something that ends at a time is no longer good.
func (s *Server) expired(at time.Time) bool {
	if s.fs.Security.TurnOffTimeouts || s.admin.noTimeouts.Load() {
		return false
	}
	return s.clock().After(at)
}

// group is the group of something new that the query makes: the one of its hint, or the first of the
// credential. EPERM if the credential has no such group.
func (q *query) group() (uint32, error) {
	for _, h := range q.header.Hints {
		if h.Type == proto.HintOwnerGID && uint32(h.Value) != anybody {
			if g := uint32(h.Value); q.who.uid == 0 || q.who.in(g) {
				return g, nil
			}
			if q.certified && len(q.who.groups) > 0 {
				break // a client does not know which groups belong to its certificate, and names one of its own machine
			}
			return 0, proto.EPERM
		}
	}
	if len(q.who.groups) == 0 {
		return 0, proto.EINVAL
	}
	return q.who.groups[0], nil
}

// anybody is the id that stands for the one of the credential.
const anybody = 0xffffffff

// hint returns the value of a hint of a type.
func (q *query) hint(t proto.HintType) (uint64, bool) {
	for _, h := range q.header.Hints {
		if h.Type == t {
			return h.Value, true
		}
	}
	return 0, false
}

// near is the handle of the hint that says which metafile or parent a request is about; 0 if there
// is none.
func (q *query) near() proto.Handle {
	v, _ := q.hint(proto.HintHandle)
	return proto.Handle(v)
}

// parent is the directory of the hint, as may takes it: none if there is no hint.
func (q *query) parent() []proto.Handle {
	if near := q.near(); near != 0 {
		return []proto.Handle{near}
	}
	return nil
}

// may checks that the capability lists all these handles and allows one of the rights: EACCES. A
// right of 0 is always there. A request with the null capability may what needs no right.
func (q *query) may(rights proto.OpMask, handles ...proto.Handle) error {
	c := &q.header.Capability
	if q.trust == nothing {
		if rights == 0 {
			return nil
		}
		return proto.EACCES
	}
	for _, h := range handles {
		if !slices.Contains(c.Handles, h) {
			return proto.EACCES
		}
	}
	if rights != 0 && c.Mask&rights == 0 {
		return proto.EACCES
	}
	return nil
}

// mayAll is may for several rights that are all needed.
func (q *query) mayAll(rights proto.OpMask, handles ...proto.Handle) error {
	if q.header.Capability.Mask&rights != rights {
		return proto.EACCES
	}
	return q.may(rights, handles...)
}

// mustShow checks, if the server is strict, that the client shows a capability that lists these handles and has one of the rights, if
// they are not 0. EACCES.
func (s *Server) mustShow(q *query, rights proto.OpMask, handles ...proto.Handle) error {
	if !s.cfg.Strict {
		return nil
	}
	if q.trust == nothing {
		return proto.EACCES
	}
	return q.may(rights, handles...)
}

// fromServer reports whether another server of the file system sent the request.
func (q *query) fromServer() bool { return q.trust == server }

// mayBeFromServer reports whether a request comes from another server, or looks like one of a stock server. That shows
// nothing but a capability for everything, which only a file system without a key believes.
func (s *Server) mayBeFromServer(q *query) bool {
	return q.fromServer() || !s.signs() && q.header.Capability.Mask == proto.MayAll
}

// administrator reports whether the sender showed a capability that only uid 0 or a server gets.
func (q *query) administrator() bool {
	return q.trust != nothing && q.header.Capability.Mask&proto.MayAdmin != 0
}
