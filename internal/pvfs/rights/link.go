package rights

import "github.com/viaduct-hpc/viaduct/pvfs/proto"

// A Target is an object that is to get a name in a directory, and what a user may do with it.
type Target struct {
	Object
	Root   bool         // it is the root directory
	Parent proto.Handle // the directory where it counts as made; 0: not known
	May    proto.OpMask // with the object
	// MayThere are the user's rights to Parent.
	MayThere proto.OpMask
	// Around: the object is the directory that is to get the name, or one in which that is.
	Around bool
}

// Link decides whether a user who may change the entries of a directory may give an object a name there. The rules are those of
// rename(2), and of link(2) with Linux's protected_hardlinks. A rename is two requests, the first of which makes the new name. So
// the user may make it who may remove the old one. A file may also get a further name, from its owner, or from a user who may read
// and write it unless its mode sets an ID.
func Link(who Identity, dir proto.Handle, t Target) error {
	switch {
	case !whole(t.Type):
		return proto.EINVAL
	case t.Root:
		return proto.EBUSY
	case t.Around:
		return proto.EINVAL
	}
	own := who.Root() || who.Known() && who.UID == t.Owner
	made := t.Parent == dir || t.Parent == 0
	mayTake := t.Parent == dir || t.MayThere&proto.MayRemove != 0
	if t.Type == proto.TypeDirectory {
		switch {
		case made && own, t.Parent == dir:
			return nil
		case mayTake && t.May&proto.MayWrite != 0: // its ".." changes
			return nil
		}
		return proto.EACCES
	}
	const both = proto.MayRead | proto.MayWrite
	if own || mayTake || t.Type == proto.TypeMetafile && t.May&both == both && !SetsID(t.Mode) {
		return nil
	}
	return proto.EPERM
}
