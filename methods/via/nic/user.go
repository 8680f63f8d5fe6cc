package nic

import "strconv"

// A User is the user that runs a process of this machine, as the kernel says.
type User struct {
	UID uint32
	// Groups has the group of the process first, and then the others that the kernel tells.
	Groups []uint32
}

// Name is the authenticated name of a peer that the user runs (Authenticator).
func (u *User) Name() string { return UserNamePrefix + strconv.FormatUint(uint64(u.UID), 10) }

// UserNamePrefix is what authenticated names of users begin with.
const UserNamePrefix = "uid:"

// OtherUserMark is what the names of requesters begin with that another user runs (ConnEvent.OtherUser).
const OtherUserMark = "~uid"

// Users say which users of this machine may be joined by a device.
type Users struct {
	// Others: a device that listens may be connected to by every user of the machine.
	Others bool
	// Trust are the users whose devices it connects to, beside its own and root's. Names are
	// looked for in the order of the list.
	Trust []uint32
}

// A MultiUser provider can make devices for processes of several users. Without more its devices are for one
// user and root.
type MultiUser interface {
	Provider

	// WithUsers is the provider with these users. What its environment allows holds, too.
	WithUsers(Users) Provider
}
