package rights

import "slices"

// Anybody, as the owner or the group in a request, means the one of the credential.
const Anybody = 0xffffffff

// An Identity is a user and its groups. A request is carried out with the rights of one. Without groups it is nobody.
type Identity struct {
	UID    uint32
	Groups []uint32 // the first is the primary one
}

// Known reports whether it names a user.
func (who Identity) Known() bool { return len(who.Groups) > 0 }

// Root reports whether the user has all rights.
func (who Identity) Root() bool { return who.Known() && who.UID == 0 }

// In reports whether the user is in a group.
func (who Identity) In(group uint32) bool { return slices.Contains(who.Groups, group) }

// Rootly reports whether the user is root, or has its group. RootSquash takes the rights of both away: the group has rights to
// much of what root owns.
func (who Identity) Rootly() bool { return who.UID == 0 || who.In(0) }
