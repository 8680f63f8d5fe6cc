package rights

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Proof is what a capability proves about its sender.
type Proof uint8

// The proofs.
const (
	Nothing Proof = iota // there is no capability
	Client               // a server of the file system issued it to a client
	Server               // the sender is a server of the file system
)

// A Capability is what the capability of a request gives.
type Capability struct {
	Proof   Proof
	Mask    proto.OpMask
	Handles []proto.Handle
	Issue   Issue
}

// An Issue says when, by which server and for which user a capability was issued.
type Issue struct {
	Server int   // by index in the configuration; -1: none of this file system
	At     int64 // ns; 0: not known
	User   uint32
	Groups []uint32 // the first ones of User
	Known  bool     // User and At are known; they are where capabilities are signed
	Open   bool     // for an open file
	SetsID bool     // for a file whose mode sets an ID, which a write ends
}

// Who is the user, as far as it is known.
func (i Issue) Who() Identity {
	if !i.Known {
		return Identity{}
	}
	return Identity{i.User, i.Groups}
}

// Of reports whether it was issued for a user.
func (i Issue) Of(user uint32) bool { return i.Known && i.User == user }

// Any reports whether the capability lists all these handles and gives at least one of the rights. A right of 0 is always
// given. No capability gives no right.
func (c Capability) Any(rights proto.OpMask, handles ...proto.Handle) bool {
	if c.Proof == Nothing {
		return rights == 0
	}
	for _, h := range handles {
		if !slices.Contains(c.Handles, h) {
			return false
		}
	}
	return rights == 0 || c.Mask&rights != 0
}

// All reports whether the capability lists all these handles and gives all of the rights.
func (c Capability) All(rights proto.OpMask, handles ...proto.Handle) bool {
	return c.Mask&rights == rights && c.Any(rights, handles...)
}

// Shown is what a capability gives whose signature was verified. For an open file that is what a descriptor gives, whatever else the
// capability says.
func Shown(proof Proof, c *proto.Capability, is Issue) Capability {
	mask := c.Mask
	if is.Open {
		mask &= openRights
	}
	return Capability{proof, mask, c.Handles, is}
}

// openRights are the rights that a capability for an open file can have: what a descriptor gives.
const openRights = proto.MayRead | proto.MayWrite

// Opened is the part of a user's rights to an object that a capability for the open object gives. Only files can be open.
func Opened(t proto.ObjType, rights proto.OpMask) (opened proto.OpMask, ok bool) {
	return rights & openRights, t == proto.TypeMetafile
}

// An Asker is the sender of a request.
type Asker struct {
	Who   Identity // of the credential, squashed; not known if the request has none
	Shows Capability
}

// User is the user that the credential names. A request without a credential is for the user of its capability.
func (a Asker) User() Identity {
	if a.Who.Known() {
		return a.Who
	}
	return a.Shows.Issue.Who()
}

// Server reports whether another server of the file system asks.
func (a Asker) Server() bool { return a.Shows.Proof == Server }

// Administrator reports whether the sender's capability is one that only uid 0 and servers get.
func (a Asker) Administrator() bool {
	return a.Shows.Proof != Nothing && a.Shows.Mask&proto.MayAdmin != 0
}
