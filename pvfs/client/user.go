package client

import (
	"container/list"
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// A user is the user for whom a view acts. Two with the same key are the same user: views, open files and caches may have one
// that the mount no longer caches.
type user struct {
	key string // the identity, see appendKey
	id  Identity
	by  *issuer

	mu   sync.Mutex
	cred proto.Credential
}

// is reports whether both are the same user.
func (u *user) is(other *user) bool { return u == other || u.key == other.key }

// credential returns a credential that is valid for a while.
func (u *user) credential(now time.Time) proto.Credential {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.cred.Timeout.Sub(now) >= credentialTime/2 {
		return u.cred
	}
	c := proto.Credential{
		User:    u.id.UID,
		Groups:  u.id.Groups,
		Issuer:  u.by.name,
		Timeout: now.Add(credentialTime).Truncate(time.Second),
	}
	if u.by.sign(u.id, &c) {
		u.cred = c
	}
	return c
}

// certified reports whether users have certificates. The servers then decide which user a request is for.
func (u *user) certified() bool { return u.by.certificate != nil }

// owner is the user's ID in requests.
func (u *user) owner() uint32 {
	if u.certified() {
		return usercert.Anybody
	}
	return u.id.UID
}

// group is the primary group in requests.
func (u *user) group() uint32 {
	if u.certified() {
		return usercert.Anybody
	}
	if len(u.id.Groups) == 0 {
		return 0
	}
	return u.id.Groups[0]
}

// in reports whether the user may give a file to a group.
func (u *user) in(group uint32) bool {
	return u.id.UID == 0 || u.certified() || slices.Contains(u.id.Groups, group)
}

// An issuer makes credentials for this machine.
type issuer struct {
	name string          // as in a keystore
	key  *credential.Key // nil: credentials are not signed
	// certificate returns the certificate of a user. nil: the servers want none.
	certificate func(Identity) (*usercert.Certificate, error)
	log         *slog.Logger
}

// sign signs a credential with the certificate of its user, or else with the key, if there is one. It reports false if the
// credential must not be cached: the next try may find a certificate, or sign without an error.
func (is *issuer) sign(id Identity, c *proto.Credential) bool {
	if is.certificate != nil {
		cert, err := is.certificate(id)
		if err == nil && cert != nil {
			if err = cert.Sign(c); err == nil {
				return true
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			is.log.Error("pvfs: the certificate of a user is not used", "uid", id.UID, "error", err)
		}
		if is.key == nil {
			return false
		}
	}
	if is.key == nil {
		return true
	}
	err := is.key.Sign(c)
	if err != nil {
		is.log.Error("pvfs: a credential is not signed", "uid", c.User, "error", err)
	}
	return err == nil
}

// users caches the users of a mount, at most usersKeptMax, and drops the least recently used. So a process with many identities,
// such as a mount for all users of a machine, needs a limited amount of memory.
type users struct {
	issuer issuer

	mu   sync.Mutex
	all  map[string]*list.Element // of used, by key
	used *list.List               // of *user, the most recently used first
}

func (us *users) init(is issuer) {
	us.issuer, us.all, us.used = is, make(map[string]*list.Element), list.New()
}

// get is the user of an identity.
func (us *users) get(id Identity) *user {
	id.Groups = id.Groups[:min(len(id.Groups), proto.MaxGroups)]
	var room [4 + 4*proto.MaxGroups]byte
	key := appendKey(room[:0], id)
	us.mu.Lock()
	defer us.mu.Unlock()
	if e, ok := us.all[string(key)]; ok {
		us.used.MoveToFront(e)
		return e.Value.(*user)
	}
	if us.used.Len() >= usersKeptMax {
		old := us.used.Remove(us.used.Back()).(*user)
		delete(us.all, old.key)
	}
	id.Groups = slices.Clone(id.Groups)
	u := &user{key: string(key), id: id, by: &us.issuer}
	us.all[u.key] = us.used.PushFront(u)
	return u
}

// appendKey appends an encoding of an identity that is unique.
func appendKey(b []byte, id Identity) []byte {
	b = binary.BigEndian.AppendUint32(b, id.UID)
	for _, g := range id.Groups {
		b = binary.BigEndian.AppendUint32(b, g)
	}
	return b
}

// cred is the credential of the view's user.
func (f *FS) cred() proto.Credential { return f.user.credential(f.opt.Clock()) }

// hinted is a header with a capability and the handle of the request's object.
func hinted(capability proto.Capability, h proto.Handle) *proto.Header {
	return &proto.Header{
		Capability: capability,
		Hints:      proto.Hints{{Type: proto.HintHandle, Value: uint64(h)}},
	}
}
