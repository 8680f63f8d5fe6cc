//go:build linux

// Package trust tells whether a file may be started as a plugin: whether nobody but the
// user and root can have written it, or can put another in its place.
//
// It looks at a path's owners and modes, and at checksums. It does not run anything
// (package process does) and does not look for plugins (plugins.Discover does).
//
// # Who is trusted
//
// Root, and the user that the program runs as (the effective one). Each folder on the way
// from the root to the file, each symbolic link and the file must be owned by one of them.
// Others must not be able to write to the file or to a folder; a folder with the sticky
// bit, as /tmp, may be written to, for in it nobody replaces what is another's.
//
// A group may write if it is the user's primary one (many systems give each user a group
// and its files are writable for it) or root's, and to all that is root's own: whom root
// lets write to /usr/local is its decision. It may not write to what the user owns if the
// group is another: who is in it is somebody else's decision. An access list (ACL) that
// lets single users write shows as a right of the group.
//
// In a user namespace that does not map root, files of root seem to be nobody's and are
// refused.
package trust
