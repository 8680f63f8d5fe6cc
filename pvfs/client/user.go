package client

import (
	"slices"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// credentialTime is how long a credential is good, as stock clients have it. It is renewed when
// half of that is over.
const credentialTime = time.Hour

// A user is for whom a view acts. There is one for each Identity of a mount, so that
// capabilities can be kept by it.
type user struct {
	id     Identity
	issuer string

	mu   sync.Mutex
	cred proto.Credential
}

// credential is one that is good for a while.
func (u *user) credential(now time.Time) proto.Credential {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.cred.Timeout.Sub(now) < credentialTime/2 {
		u.cred = proto.Credential{
			User:    u.id.UID,
			Groups:  u.id.Groups,
			Issuer:  u.issuer,
			Timeout: now.Add(credentialTime).Truncate(time.Second),
		}
	}
	return u.cred
}

// group is the primary one.
func (u *user) group() uint32 {
	if len(u.id.Groups) == 0 {
		return 0
	}
	return u.id.Groups[0]
}

// in tells whether the user may give a file to a group.
func (u *user) in(group uint32) bool { return u.id.UID == 0 || slices.Contains(u.id.Groups, group) }

// user is the one of an identity.
func (c *core) user(id Identity) *user {
	id.Groups = slices.Clone(id.Groups[:min(len(id.Groups), proto.MaxGroups)])
	c.usersMu.Lock()
	defer c.usersMu.Unlock()
	for _, u := range c.users {
		if u.id.UID == id.UID && slices.Equal(u.id.Groups, id.Groups) {
			return u
		}
	}
	u := &user{id: id, issuer: "C:" + c.host}
	c.users = append(c.users, u)
	return u
}

// cred is the credential of the view's user.
func (f *FS) cred() proto.Credential { return f.user.credential(f.opt.Clock()) }

// hinted is a header with a capability and the handle that a request is about.
func hinted(capability proto.Capability, h proto.Handle) *proto.Header {
	return &proto.Header{
		Capability: capability,
		Hints:      proto.Hints{{Type: proto.HintHandle, Value: uint64(h)}},
	}
}
