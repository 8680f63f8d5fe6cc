package rights

import "github.com/viaduct-hpc/viaduct/pvfs/proto"

// toSet lists the attributes that need a right, and the rights. One of them is enough.
var toSet = []struct {
	attr   proto.AttrMask
	rights proto.OpMask
}{
	{proto.AttrUID | proto.AttrGID | proto.AttrPerm | proto.AttrTarget | proto.AttrATimeSet, proto.MaySetAttr},
	{proto.AttrMTime | proto.AttrMTimeSet | proto.AttrCTime, proto.MayWrite | proto.MaySetAttr},
	{proto.AttrATime, proto.MayRead | proto.MayWrite | proto.MaySetAttr},
}

// fixed are attributes that an object keeps from its creation: no sender may change them by SETATTR. If users could set the
// datafiles of a metafile, its capability would give them rights to the bytes of other files.
const fixed = proto.AttrDist | proto.AttrDatafiles | proto.AttrMirror

// Fresh says whether an object is a symlink without a target yet: BATCH_CREATE made it, and the client sends the target by
// SETATTR. The client has no capability for it, only one for the directory.
type Fresh uint8

// The kinds of objects.
const (
	NotFresh       Fresh = iota
	FreshOfOwner         // its owner made it
	FreshOfAnybody       // nothing is signed, so its maker is not known
)

// SetAttr decides about a SETATTR. It returns the attributes to set: with the owner and the group of the credential where the
// request has Anybody, and without the set-ID bits that the request may not keep.
func SetAttr(asker Asker, o Object, fresh Fresh, a proto.Attr) (proto.Attr, error) {
	if a.Mask&fixed != 0 {
		return a, proto.EPERM
	}
	if fresh != NotFresh && !asker.Server() {
		a = ownByDefault(a)
	}
	if a.Mask&proto.AttrUID != 0 && a.Owner == Anybody {
		a.Owner = asker.Who.UID
	}
	if a.Mask&proto.AttrGID != 0 && a.Group == Anybody {
		if !asker.Who.Known() {
			return a, proto.EINVAL
		}
		a.Group = asker.Who.Groups[0]
	}
	if asker.Server() {
		return a, nil
	}
	if a.Mask&proto.AttrDistDir != 0 {
		return a, proto.EPERM
	}
	if fresh == NotFresh {
		for _, r := range toSet {
			if a.Mask&r.attr != 0 && asker.Shows.Mask&r.rights == 0 {
				return a, proto.EACCES
			}
		}
	}
	if !asker.Administrator() && !asker.Who.Root() {
		if fresh == FreshOfOwner && o.Owner != asker.Who.UID {
			return a, proto.EPERM
		}
		if err := own(asker.Who, o, fresh, a); err != nil {
			return a, err
		}
	}
	return withoutSetID(asker, o, a), nil
}

// ownByDefault gives an object without owner and group those of the credential, unless the request names others.
func ownByDefault(a proto.Attr) proto.Attr {
	if a.Mask&proto.AttrUID == 0 {
		a.Owner = Anybody
	}
	if a.Mask&proto.AttrGID == 0 {
		a.Group = Anybody
	}
	a.Mask |= proto.AttrUID | proto.AttrGID
	return a
}

// own checks a change of owner and group by a user other than root: the user may not give an object away, and may change the
// group only to one of its own.
func own(who Identity, o Object, fresh Fresh, a proto.Attr) error {
	if a.Mask&(proto.AttrUID|proto.AttrGID) == 0 {
		return nil
	}
	if fresh == NotFresh && o.Owner != who.UID {
		return proto.EPERM
	}
	if a.Mask&proto.AttrUID != 0 && a.Owner != who.UID {
		return proto.EPERM
	}
	if a.Mask&proto.AttrGID != 0 && (fresh != NotFresh || a.Group != o.Group) && !who.In(a.Group) {
		return proto.EPERM
	}
	return nil
}
