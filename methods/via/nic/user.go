package nic

import "strconv"

// A User is the user that runs a process of this machine, as reported by the kernel.
type User struct {
	UID uint32
	// Groups has the group of the process first, and then the supplementary groups that the kernel reports.
	Groups []uint32
}

// Name is the authenticated name of a peer that the user runs (Authenticator).
func (u *User) Name() string { return UserNamePrefix + strconv.FormatUint(uint64(u.UID), 10) }

// UserNamePrefix is the beginning of authenticated names of users.
const UserNamePrefix = "uid:"

// OtherUserMark begins the names of requesters run by another user (ConnEvent.OtherUser).
const OtherUserMark = "~uid"

// Users say with which users of this machine a device may connect.
type Users struct {
	// Others: every user of the machine may connect to a listening device.
	Others bool
	// Trust are the users to whose devices it connects, besides its own user and root. Names are looked up
	// in the order of the list.
	Trust []uint32
}

// A MultiUser provider can make devices for processes of several users. By default its devices are for one
// user and root.
type MultiUser interface {
	Provider

	// WithUsers returns the provider with these users, in addition to those that its environment allows.
	WithUsers(Users) Provider
}
