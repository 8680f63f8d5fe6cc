package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// errNoName is for a client that neither signs credentials nor has authenticated itself in the network method.
var errNoName = errors.New("the client has neither a key in the keystore nor one for its network method (a certificate or a static key)")

// errUserName is for a key or a certificate named like a user of this machine. Only the kernel gives such names.
var errUserName = errors.New("names that begin with " + userPrefix + " are not allowed for keys and certificates")

// loadKeystore returns the keystore of Config, or reads the file that the configuration names. nil: credentials need no
// signature.
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

// authenticate checks that a client may act for the user in its credential, or finds the user of its certificate. An empty
// address is that of a server or of this process, which may act for all users. EPERM.
func (s *Server) authenticate(q *query, c *proto.Credential, from string) error {
	signed := q.rules.keys != nil && len(c.Signature) > 0
	var err error
	switch {
	case from == "":
		return nil
	case q.rules.certs != nil && len(c.Certificate) > 0:
		return s.certify(q, c, from)
	case q.user != nil && !signed:
		err = checkUser(q, c)
	case q.rules.keys == nil && q.rules.identities == nil && q.rules.certs == nil:
		return nil
	default:
		var client string
		client, err = s.clientOf(q, c)
		if err == nil && q.rules.identities != nil {
			err = q.rules.identities.Allow(client, c)
		}
	}
	if err == nil {
		return nil
	}
	return s.refused(err, from, "issuer", c.Issuer, "uid", c.User)
}

// checkHolder checks that a client may act for the user of its capability, where the network method knows who the client is. Where
// clients prove it by keys or certificates, only requests with a credential do. EPERM.
func (s *Server) checkHolder(q *query, from string) error {
	is, r := q.Shows.Issue, q.rules
	if q.Shows.Proof != rights.Client || !is.Known || from == "" || is.User == r.export.AnonUID || r.keys != nil || r.certs != nil {
		return nil
	}
	var err error
	of := &proto.Credential{User: is.User, Groups: is.Groups}
	switch {
	case q.user != nil:
		err = checkUser(q, of)
	case r.identities != nil:
		var client string
		if client, err = s.clientOf(q, of); err == nil {
			err = r.identities.Allow(client, of)
		}
	}
	if err == nil {
		return nil
	}
	return s.refused(err, from, "uid of the capability", is.User)
}

// refused counts a client that may not act for the user in its credential, logs that at a limited rate, and returns EPERM.
func (s *Server) refused(reason error, from string, about ...any) error {
	s.refusals.Note(refusal.Authentication, from, append([]any{"reason", reason}, about...)...)
	return proto.EPERM
}

// clientOf returns the name of the client that sent a credential. The signature proves it. Without a signature it is the name
// that the client has proved in the network method, if there are Identities.
func (s *Server) clientOf(q *query, c *proto.Credential) (string, error) {
	if q.rules.keys != nil && (len(c.Signature) > 0 || q.rules.identities == nil) {
		client := credential.Client(c)
		if strings.HasPrefix(client, userPrefix) {
			return "", errUserName
		}
		return client, q.rules.keys.Verify(c)
	}
	if q.rules.identities == nil { // only a certificate of a user would do
		return "", usercert.ErrMissing
	}
	ep := s.ep.Load()
	if ep == nil {
		return "", errNoName
	}
	name := ep.AuthenticatedName(q.peer)
	switch {
	case name == "":
		return "", errNoName
	case strings.HasPrefix(name, userPrefix) && ep.LocalUser(q.peer) == nil:
		return "", errUserName
	}
	return name, nil
}
