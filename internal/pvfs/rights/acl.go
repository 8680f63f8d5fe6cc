package rights

import "encoding/binary"

// An access control list is the value of an extended attribute: a version, then entries of 8 bytes, as in Linux's
// posix_acl_xattr.h.
const (
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

// ValidACL reports whether a value is an access control list.
func ValidACL(value []byte) bool { return aclEntries(value) != nil }

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
func aclBits(o Object, who Identity) uint32 {
	entries := aclEntries(o.ACL)
	mask, other := uint16(aclPermsMask), uint16(0)
	for _, e := range entries {
		switch e.tag {
		case aclMask:
			mask = e.perm
		case aclOther:
			other = e.perm
		}
	}
	if who.UID == o.Owner {
		for _, e := range entries {
			if e.tag == aclUserObj {
				return uint32(e.perm)
			}
		}
		return o.Mode >> 6
	}
	member, granted := false, uint16(0)
	for _, e := range entries {
		switch {
		case e.tag == aclUser && e.id == who.UID:
			return uint32(e.perm & mask)
		case e.tag == aclGroupObj && who.In(o.Group), e.tag == aclGroup && who.In(e.id):
			member = true
			granted |= e.perm & mask
		}
	}
	if member {
		return uint32(granted)
	}
	return uint32(other)
}
