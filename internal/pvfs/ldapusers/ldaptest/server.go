// Package ldaptest is a small LDAP directory in a test process. It supports binds with a password, and searches for one attribute
// with one value, as package ldapusers sends them.
package ldaptest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
)

// Entry is one entry of the directory.
type Entry struct {
	DN, Password string
	Attributes   map[string][]string
}

// Server is a directory.
type Server struct {
	tb      testing.TB
	l       net.Listener
	entries []Entry

	mu       sync.Mutex
	conns    []net.Conn
	searches int
	silent   bool
}

// Start starts a directory, which stops at the end of the test.
func Start(tb testing.TB, entries ...Entry) *Server {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("ldaptest: %v", err)
	}
	s := &Server{tb: tb, l: l, entries: entries}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			all.Go(func() { s.serve(conn) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		s.Cut()
		all.Wait()
	})
	return s
}

// User is the entry of a person with IDs.
func User(name, password string, uid, gid int) Entry {
	return Entry{DN: "cn=" + name + ",ou=Users,dc=example,dc=org", Password: password, Attributes: map[string][]string{
		"objectClass": {"inetOrgPerson", "posixAccount"}, "cn": {name},
		"uidNumber": {fmt.Sprint(uid)}, "gidNumber": {fmt.Sprint(gid)},
	}}
}

// URL is the address of the directory.
func (s *Server) URL() string { return "ldap://" + s.l.Addr().String() }

// Searches is the number of searches so far.
func (s *Server) Searches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.searches
}

// Cut ends all connections.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_ = conn.Close() // it may be closed already
	}
	s.conns = nil
}

// Remove removes the entries with a name.
func (s *Server) Remove(dn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = slices.DeleteFunc(slices.Clone(s.entries), func(e Entry) bool { return e.DN == dn })
}

// all are all entries.
func (s *Server) all() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries
}

// Silence makes the server close connections instead of answering, or answer again.
func (s *Server) Silence(silent bool) {
	s.mu.Lock()
	s.silent = silent
	s.mu.Unlock()
}

// serve answers the requests of a connection.
func (s *Server) serve(conn net.Conn) {
	defer conn.Close() // the client has closed it
	for {
		message, err := ber.ReadPacket(conn)
		if err != nil || len(message.Children) < 2 {
			return
		}
		id, ok := message.Children[0].Value.(int64)
		request := message.Children[1]
		s.mu.Lock()
		silent := s.silent
		s.mu.Unlock()
		if !ok || silent {
			return
		}
		var replies []*ber.Packet
		switch request.Tag {
		case ldap.ApplicationBindRequest:
			replies = []*ber.Packet{result(ldap.ApplicationBindResponse, s.bind(request))}
		case ldap.ApplicationSearchRequest:
			replies = s.search(request)
		default: // unbind
			return
		}
		for _, reply := range replies {
			envelope := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
			envelope.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, id, ""))
			envelope.AppendChild(reply)
			if _, err := conn.Write(envelope.Bytes()); err != nil {
				return
			}
		}
	}
}

func text(value string) *ber.Packet {
	return ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, value, "")
}

func result(tag ber.Tag, code int64) *ber.Packet {
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, tag, nil, "")
	p.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, code, ""))
	p.AppendChild(text(""))
	p.AppendChild(text(""))
	return p
}

// bind checks a password. Like some real directories, it accepts a bind without a password as anonymous.
func (s *Server) bind(request *ber.Packet) int64 {
	dn, password := request.Children[1].Data.String(), request.Children[2].Data.String()
	if password == "" {
		return ldap.LDAPResultSuccess
	}
	for _, e := range s.all() {
		if strings.EqualFold(e.DN, dn) && e.Password == password {
			return ldap.LDAPResultSuccess
		}
	}
	return ldap.LDAPResultInvalidCredentials
}

// search finds the entries that match the request's filter.
func (s *Server) search(request *ber.Packet) (replies []*ber.Packet) {
	s.mu.Lock()
	s.searches++
	s.mu.Unlock()
	base := request.Children[0].Data.String()
	scope, _ := request.Children[1].Value.(int64)
	limit, _ := request.Children[3].Value.(int64)
	filter, err := ldap.DecompileFilter(request.Children[6])
	if err != nil {
		return []*ber.Packet{result(ldap.ApplicationSearchResultDone, ldap.LDAPResultProtocolError)}
	}
	code := int64(ldap.LDAPResultSuccess)
	for _, e := range s.all() {
		if scope == ldap.ScopeBaseObject && !strings.EqualFold(e.DN, base) || !strings.HasSuffix(strings.ToLower(e.DN), strings.ToLower(base)) || !e.fits(filter) {
			continue
		}
		if limit > 0 && int64(len(replies)) == limit {
			code = ldap.LDAPResultSizeLimitExceeded
			break
		}
		replies = append(replies, e.packet())
	}
	if len(replies) == 0 && scope == ldap.ScopeBaseObject {
		code = ldap.LDAPResultNoSuchObject
	}
	return append(replies, result(ldap.ApplicationSearchResultDone, code))
}

// fits matches an entry with a filter: (a=b), (a=*) or (&(a=b)(c=d)). A star elsewhere matches any text after the prefix before
// it.
func (e Entry) fits(filter string) bool {
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(filter, "(&("), "))"), ")(") {
		name, value, _ := strings.Cut(strings.Trim(part, "()"), "=")
		found := false
		for attr, values := range e.Attributes {
			for _, v := range values {
				begin, _, wild := strings.Cut(value, "*")
				same := strings.EqualFold(ldap.EscapeFilter(v), value) || wild && strings.HasPrefix(v, begin)
				found = found || strings.EqualFold(attr, name) && same
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func (e Entry) packet() *ber.Packet {
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationSearchResultEntry, nil, "")
	p.AppendChild(text(e.DN))
	list := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
	for attr, values := range e.Attributes {
		one := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
		one.AppendChild(text(attr))
		set := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSet, nil, "")
		for _, v := range values {
			set.AppendChild(text(v))
		}
		one.AppendChild(set)
		list.AppendChild(one)
	}
	p.AppendChild(list)
	return p
}
