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

// Link decides whether a user who may change the entries of a directory may give an object a name there: as rename(2) and link(2)
// have it, with Linux's protected_hardlinks. A rename is two requests, for the new name and for the old one, so one who may take
// the object's name away where it is may give it another. Besides, a user may give a further name to a file, but not to a
// directory, if it is the user's own, or may be read and written and sets nobody's ID.
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
