package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// userPrefix begins the names of users of this machine in Identities. No key and no certificate has such a name.
const userPrefix = "uid:"

var (
	// errKernel is for a client that claims more than the kernel says.
	errKernel = errors.New("the credential does not match what the kernel says about the client")
	// errNotSigned is for users of this machine where nothing is signed: they could claim to be servers.
	errNotSigned = errors.New("several servers without a key cannot serve other users of their machines; give all of them the same key")
	// errUserUnknown is for a client of another user whose name a plugin has lost.
	errUserUnknown = errors.New("the method does not report which user of this machine runs the client")
)

// otherUser is the user of this machine that runs a client, as the kernel says. It is nil for root and for the server's own user,
// which are trusted anyway, and for a client of another machine. EPERM.
func (s *Server) otherUser(peer bmi.Addr, from string) (*bmi.User, error) {
	ep := s.ep.Load()
	if ep == nil || peer.IsZero() {
		return nil, nil
	}
	u := ep.LocalUser(peer)
	switch {
	case u == nil && marked(from):
		return nil, s.refused(errUserUnknown, from)
	case u == nil || u.UID == 0 || u.UID == s.euid:
		return nil, nil
	case !s.signs():
		return nil, s.refused(errNotSigned, from, "uid", u.UID)
	}
	return u, nil
}

// marked reports whether an address, or a pattern of addresses, is for other users of this machine.
func marked(address string) bool { return strings.Contains(address, "://"+bmi.OtherUserMark) }

// checkUser checks the credential of a client that another user of this machine runs. The kernel's word for that user and its
// groups is proof enough. If Identities has a line for the user, the line counts instead; "*" does not match it.
func checkUser(q *query, c *proto.Credential) error {
	name := fmt.Sprintf("%s%d", userPrefix, q.user.UID)
	if ids := q.rules.identities; ids != nil && ids.Names(name) {
		return ids.Allow(name, c)
	}
	if c.User != q.user.UID {
		return fmt.Errorf("%w: it is uid %d", errKernel, q.user.UID)
	}
	for _, g := range c.Groups {
		if !slices.Contains(q.user.Groups, g) {
			return fmt.Errorf("%w: uid %d was not in group %d when it connected", errKernel, c.User, g)
		}
	}
	return nil
}
