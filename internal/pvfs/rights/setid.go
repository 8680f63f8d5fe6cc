package rights

import "github.com/viaduct-hpc/viaduct/pvfs/proto"

// withoutSetID takes from a SETATTR, or adds to it, what Linux does with the bits that set a user or group (chown(2),
// chmod(2)): a change of owner or group of anything but a directory clears them, and a mode from who is not in the group does
// not set the group. A request by root with both says what it wants.
func withoutSetID(asker Asker, o Object, a proto.Attr) proto.Attr {
	root := asker.Administrator() || asker.Who.Root()
	group := o.Group
	if a.Mask&proto.AttrGID != 0 {
		group = a.Group
	}
	switch {
	case a.Mask&proto.AttrPerm != 0:
		if !root && !asker.Who.In(group) {
			a.Perms &^= setGID
		}
	case a.Mask&(proto.AttrUID|proto.AttrGID) != 0 && o.Type != proto.TypeDirectory:
		if kept := AfterWrite(o.Mode); kept != o.Mode {
			a.Perms, a.Mask = kept, a.Mask|proto.AttrPerm
		}
	}
	return a
}

// AfterWrite is the mode of a file after its bytes or its owner have changed: it sets no user any more, and no group. A file
// that its group may not execute keeps the second bit, which stands for mandatory locks there.
func AfterWrite(mode uint32) uint32 {
	mode &^= setUID
	if mode&(execBit<<3) != 0 {
		mode &^= setGID
	}
	return mode
}

// SetsID reports whether a write by anybody but root changes a file's mode.
func SetsID(mode uint32) bool { return AfterWrite(mode) != mode }
