package rights

import "github.com/viaduct-hpc/viaduct/pvfs/proto"

// The bits of a mode.
const (
	ModeBits = 07777
	setUID   = 04000
	setGID   = 02000

	execBit  = 1
	writeBit = 2
	readBit  = 4
)

// An Object has what decisions about it depend on.
type Object struct {
	Type         proto.ObjType
	Owner, Group uint32
	Mode         uint32
	ACL          []byte // value of the access control list; empty: there is none
}

// whole reports whether users have rights to objects of this type. The others are parts of one of these: their modes are
// from when they were made, and the rights to them come from the whole.
func whole(t proto.ObjType) bool {
	return t == proto.TypeMetafile || t == proto.TypeDirectory || t == proto.TypeSymlink
}

// Of is what a user may do with an object. As in POSIX, the first class that matches decides: owner, group, others. (Stock
// servers give the union of two.)
func Of(o Object, who Identity) proto.OpMask {
	if who.Root() {
		if o.Type != proto.TypeDirectory {
			return proto.MayAll &^ (proto.MayCreate | proto.MayRemove)
		}
		return proto.MayAll
	}
	if !who.Known() || !whole(o.Type) {
		return 0
	}
	bits := classBits(o, who)
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
	if who.UID == o.Owner {
		m |= proto.MaySetAttr
	}
	if both := proto.MayWrite | proto.MayExec; o.Type == proto.TypeDirectory && m&both == both {
		m |= proto.MayCreate | proto.MayRemove
	}
	return m
}

// classBits are the bits of the mode, or of the list, that apply to a user.
func classBits(o Object, who Identity) uint32 {
	switch {
	case len(o.ACL) > 0:
		return aclBits(o, who)
	case who.UID == o.Owner:
		return o.Mode >> 6
	case who.In(o.Group):
		return o.Mode >> 3
	}
	return o.Mode
}
