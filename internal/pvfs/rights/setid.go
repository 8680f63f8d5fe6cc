package rights

import "github.com/viaduct-hpc/viaduct/pvfs/proto"

// withoutSetID clears the set-user-ID and set-group-ID bits as Linux does (chown(2), chmod(2)). A change of the owner or the
// group clears both, except on a directory. A user outside the group cannot set the second. Root can set both in a request that
// changes the owner, too.
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

// AfterWrite is the mode of a file after its bytes or its owner have changed. The set-user-ID bit is cleared, and the set-group-ID
// bit if the group may execute the file. Otherwise that bit means mandatory locks, and stays.
func AfterWrite(mode uint32) uint32 {
	mode &^= setUID
	if mode&(execBit<<3) != 0 {
		mode &^= setGID
	}
	return mode
}

// SetsID reports whether a write changes a file's mode, unless root writes.
func SetsID(mode uint32) bool { return AfterWrite(mode) != mode }
