//go:build linux

// Package trust decides whether a file may be started as a plugin: nobody but the user and root may
// be able to write or replace it.
//
// It checks the owners and modes of a path, and checksums. It does not run anything (package
// process does) and does not search for plugins (plugins.Discover does).
//
// # Who is trusted
//
// Root, and the effective user of the program. Each folder from the root to the file, each symbolic
// link and the file must be owned by one of them. Others must not be able to write to the file or
// to a folder. A folder with the sticky bit, such as /tmp, may be writable, because in it users
// cannot replace the files of others.
//
// A group may have write access if it is the user's primary group (many systems give each user a
// group, and make files writable for it) or root's group, and to everything that root owns: root
// decides who may write to /usr/local. Another group must not be able to write to what the user
// owns, because another person decides about its members. An access list (ACL) that gives single
// users write access shows as group access.
//
// In a user namespace that does not map root, root's files seem to belong to nobody and are
// refused.
package trust
