package rights

import "slices"

// Anybody stands for the user or group of the credential where an attribute names it.
const Anybody = 0xffffffff

// An Identity is the user for whom a request is carried out. One without groups is no user.
type Identity struct {
	UID    uint32
	Groups []uint32 // the first is the primary one
}

// Known reports whether it is a user at all.
func (who Identity) Known() bool { return len(who.Groups) > 0 }

// Root reports whether the user has all rights.
func (who Identity) Root() bool { return who.Known() && who.UID == 0 }

// In reports whether the user is in a group.
func (who Identity) In(group uint32) bool { return slices.Contains(who.Groups, group) }

// Squashing are the rules of an export that apply to a client.
type Squashing struct {
	All  bool     // users are nobody
	Root bool     // root is nobody, and so is who is in its group
	As   Identity // nobody
}

// Apply is the identity that a client's user has on the server. Root's group counts wherever it stands in the list: it
// owns much of what root does.
func (s Squashing) Apply(who Identity) (as Identity, squashed bool) {
	if s.All || s.Root && (who.UID == 0 || who.In(0)) {
		return s.As, true
	}
	return who, false
}
