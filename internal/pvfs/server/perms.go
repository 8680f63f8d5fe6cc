package server

import (
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Bits of a mode, for one class of users.
const (
	execBit  = 1
	writeBit = 2
	readBit  = 4
)

// grants is what a user may do with an object. As in POSIX, the first class that matches decides: owner, group, others. (Stock
// servers give the union of two.)
func grants(a *proto.Attr, acl []byte, who identity) proto.OpMask {
	if who.root() {
		if a.Type != proto.TypeDirectory {
			return proto.MayAll &^ (proto.MayCreate | proto.MayRemove)
		}
		return proto.MayAll
	}
	if len(who.groups) == 0 {
		return 0
	}
	switch a.Type {
	case proto.TypeMetafile, proto.TypeDirectory, proto.TypeSymlink:
	default: // a part of one of these: its mode is from when it was made, and the rights come from the whole
		return 0
	}
	var bits uint32
	switch {
	case len(acl) > 0:
		bits = aclBits(acl, a, who)
	case who.uid == a.Owner:
		bits = a.Perms >> 6
	case who.in(a.Group):
		bits = a.Perms >> 3
	default:
		bits = a.Perms
	}
	var m proto.OpMask
	if bits&readBit != 0 {
		m |= proto.MayRead
	}
	if bits&writeBit != 0 {
		m |= proto.MayWrite
	}
	if bits&execBit != 0 {
		m |= proto.MayExec
	}
	if who.uid == a.Owner {
		m |= proto.MaySetAttr
	}
	if both := proto.MayWrite | proto.MayExec; a.Type == proto.TypeDirectory && m&both == both {
		m |= proto.MayCreate | proto.MayRemove
	}
	return m
}

// An access control list is the value of an extended attribute: a version, then entries of 8 bytes.
const (
	aclName      = "system.posix_acl_access"
	aclDefault   = "system.posix_acl_default"
	aclHeader    = 4
	aclEntryLen  = 8
	aclUserObj   = 0x01
	aclUser      = 0x02
	aclGroupObj  = 0x04
	aclGroup     = 0x08
	aclMask      = 0x10
	aclOther     = 0x20
	aclPermsMask = 7
)

type aclEntry struct {
	tag, perm uint16
	id        uint32
}

// aclEntries parses a list; nil if it is not valid.
func aclEntries(b []byte) []aclEntry {
	if len(b) <= aclHeader || (len(b)-aclHeader)%aclEntryLen != 0 {
		return nil
	}
	var all []aclEntry
	for b = b[aclHeader:]; len(b) > 0; b = b[aclEntryLen:] {
		all = append(all, aclEntry{
			tag:  binary.LittleEndian.Uint16(b),
			perm: binary.LittleEndian.Uint16(b[2:]) & aclPermsMask,
			id:   binary.LittleEndian.Uint32(b[4:]),
		})
	}
	return all
}

// aclBits are the permission bits that an access control list gives a user.
func aclBits(acl []byte, a *proto.Attr, who identity) uint32 {
	entries := aclEntries(acl)
	mask, other := uint16(aclPermsMask), uint16(0)
	for _, e := range entries {
		switch e.tag {
		case aclMask:
			mask = e.perm
		case aclOther:
			other = e.perm
		}
	}
	if who.uid == a.Owner {
		for _, e := range entries {
			if e.tag == aclUserObj {
				return uint32(e.perm)
			}
		}
		return a.Perms >> 6
	}
	member, granted := false, uint16(0)
	for _, e := range entries {
		switch {
		case e.tag == aclUser && e.id == who.uid:
			return uint32(e.perm & mask)
		case e.tag == aclGroupObj && who.in(a.Group), e.tag == aclGroup && who.in(e.id):
			member = true
			granted |= e.perm & mask
		}
	}
	if member {
		return uint32(granted)
	}
	return uint32(other)
}

// openData opens a datafile for a query that may use it. EACCES: the datafile belongs to another metafile than the one of the
// capability. Servers are not checked, and no one is if nothing is signed.
func (s *Server) openData(q *query, h proto.Handle, writes bool) (*store.Data, error) {
	var metafile proto.Handle
	if q.trust == client && s.signs() {
		if is := q.header.Capability.Handles[0]; !s.fs.IsData(is) { // giveCapability lists the object itself first
			metafile = is
		}
	}
	return s.store.OpenDataOf(h, metafile, writes)
}

// aclOf reads the access control list of an object; nil if it has none.
func aclOf(tx *store.Tx, h proto.Handle) ([]byte, error) {
	acl, err := tx.Xattr(h, aclName)
	if proto.StatusOf(err) == proto.ENODATA {
		return nil, nil
	}
	return acl, err
}
