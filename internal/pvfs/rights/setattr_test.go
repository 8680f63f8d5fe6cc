package rights

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// shows is an asker who has got a capability for an object by its rights.
func shows(who Identity, o Object) Asker {
	return Asker{Who: who, Shows: Capability{Proof: Client, Mask: Of(o, who), Issue: Issue{User: who.UID, Known: true}}}
}

// TestNoModeOutlivesItsOwner: whatever a user does to an object, and whatever is done to it, nobody gets an object that sets
// another user, or a group that the user is not in: each owner, group and mode before, each change by each user.
func TestNoModeOutlivesItsOwner(t *testing.T) {
	world, all := people(), changes()
	for _, kind := range []proto.ObjType{proto.TypeMetafile, proto.TypeDirectory} {
		for bits := range uint32(64) { // reading and writing decide nothing here
			mode := bits>>3<<9 | bits&4<<4 | bits&2<<2 | bits&1
			for _, owner := range []uint32{0, alice} {
				for _, who := range world {
					o := Object{Type: kind, Owner: owner, Group: staff, Mode: mode}
					for _, a := range all {
						if wrong := wrongChange(o, who, a); wrong != "" {
							t.Fatalf("%+v by %+v, asked %o of owner %d, group %d, mode %o: %s", o, who, a.Mask, a.Owner, a.Group, a.Perms, wrong)
						}
					}
				}
			}
		}
	}
}

// changes are those of owner, group and mode.
func changes() (all []proto.Attr) {
	for mask := range proto.AttrMask(8) {
		for _, owner := range []uint32{0, alice, bob, Anybody} {
			for _, group := range []uint32{0, staff, ops, Anybody} {
				for _, mode := range []uint32{0o755, 0o6755, 0o2745} {
					all = append(all, proto.Attr{Mask: mask, Owner: owner, Group: group, Perms: mode})
				}
			}
		}
	}
	return all
}

// wrongChange says what is wrong with what a change came to; "" if nothing is.
func wrongChange(o Object, who Identity, a proto.Attr) string {
	got, err := SetAttr(shows(who, o), o, NotFresh, a)
	root := who.Root()
	switch {
	case root && err != nil:
		return err.Error()
	case !root && (who.UID != o.Owner || !who.Known()):
		if err == nil && a.Mask != 0 {
			return "somebody else has changed it"
		}
		return ""
	case err != nil:
		return ""
	}
	after, asked := changed(o, got), a.Mask&proto.AttrPerm != 0
	switch {
	case !root && after.Owner != o.Owner:
		return "it was given away"
	case !root && after.Group != o.Group && !who.In(after.Group):
		return "it was given to a foreign group"
	case !root && asked && after.Mode&setGID != 0 && !who.In(after.Group):
		return "it sets a foreign group"
	case asked:
		return ""
	case o.Mode&0o1777 != after.Mode&0o1777:
		return "another bit of the mode has changed"
	case o.Type == proto.TypeDirectory || a.Mask&(proto.AttrUID|proto.AttrGID) == 0:
		if o.Mode != after.Mode {
			return "the mode has changed"
		}
	case after.Mode&setUID != 0, after.Mode&setGID != 0 && after.Mode&0o10 != 0:
		return "it sets an ID for its new owner"
	}
	return ""
}

// changed is an object after a change.
func changed(o Object, a proto.Attr) Object {
	if a.Mask&proto.AttrUID != 0 {
		o.Owner = a.Owner
	}
	if a.Mask&proto.AttrGID != 0 {
		o.Group = a.Group
	}
	if a.Mask&proto.AttrPerm != 0 {
		o.Mode = a.Perms
	}
	return o
}

// TestWhatNobodySets: the parts of a file and how a directory is spread are not for clients, and each attribute needs its right.
func TestWhatNobodySets(t *testing.T) {
	o := Object{Type: proto.TypeMetafile, Owner: alice, Group: staff, Mode: 0o644}
	root := Identity{0, []uint32{0}}
	for _, fixed := range []proto.AttrMask{proto.AttrDist, proto.AttrDatafiles, proto.AttrMirror} {
		for _, asker := range []Asker{shows(root, o), {Shows: Capability{Proof: Server, Mask: proto.MayAll}}} {
			_, err := SetAttr(asker, o, NotFresh, proto.Attr{Mask: fixed})
			require.Equal(t, proto.EPERM, err)
		}
	}
	_, err := SetAttr(shows(root, o), o, NotFresh, proto.Attr{Mask: proto.AttrDistDir})
	require.Equal(t, proto.EPERM, err)
	_, err = SetAttr(Asker{Shows: Capability{Proof: Server, Mask: proto.MayAll}}, o, NotFresh, proto.Attr{Mask: proto.AttrDistDir})
	require.NoError(t, err)
	for attr, needs := range map[proto.AttrMask]proto.OpMask{
		proto.AttrUID: proto.MaySetAttr, proto.AttrGID: proto.MaySetAttr, proto.AttrPerm: proto.MaySetAttr, proto.AttrTarget: proto.MaySetAttr,
		proto.AttrATimeSet: proto.MaySetAttr, proto.AttrMTime: proto.MayWrite | proto.MaySetAttr, proto.AttrMTimeSet: proto.MayWrite | proto.MaySetAttr,
		proto.AttrCTime: proto.MayWrite | proto.MaySetAttr, proto.AttrATime: proto.MayRead | proto.MayWrite | proto.MaySetAttr,
	} {
		for _, right := range allRights {
			asker := shows(Identity{alice, []uint32{staff}}, o)
			asker.Shows.Mask = right
			_, err := SetAttr(asker, o, NotFresh, proto.Attr{Mask: attr, Owner: alice, Group: staff, Perms: 0o600})
			require.Equal(t, needs&right != 0, err == nil, "attribute %b with %b: %v", attr, right, err)
		}
	}
}

// TestFreshSymlinkIsItsMakers: a symlink whose target is still to come is given to nobody else.
func TestFreshSymlinkIsItsMakers(t *testing.T) {
	fresh := Object{Type: proto.TypeSymlink, Owner: alice}
	who := Identity{alice, []uint32{staff, ops}}
	for _, c := range []struct {
		a    proto.Attr
		want error
	}{
		{proto.Attr{Mask: proto.AttrTarget}, nil},
		{proto.Attr{Mask: proto.AttrTarget | proto.AttrUID | proto.AttrGID, Owner: alice, Group: ops}, nil},
		{proto.Attr{Mask: proto.AttrTarget | proto.AttrUID, Owner: bob}, proto.EPERM},
		{proto.Attr{Mask: proto.AttrTarget | proto.AttrGID, Group: wheel}, proto.EPERM},
	} {
		for _, other := range []Identity{{bob, []uint32{staff}}, {0xfffffffe, []uint32{0}}, {}} {
			_, err := SetAttr(Asker{Who: other, Shows: Capability{Proof: Client}}, fresh, FreshOfOwner, c.a)
			require.Error(t, err, "somebody who knows the handle")
		}
		_, err := SetAttr(Asker{Who: who, Shows: Capability{Proof: Client}}, Object{Type: proto.TypeSymlink}, FreshOfAnybody, c.a)
		require.Equal(t, c.want, err)
		a, err := SetAttr(Asker{Who: who, Shows: Capability{Proof: Client}}, fresh, FreshOfOwner, c.a)
		require.Equal(t, c.want, err)
		if err == nil {
			require.EqualValues(t, alice, a.Owner)
			require.True(t, who.In(a.Group))
		}
	}
}

// TestToXattrs: the right that an extended attribute needs depends on its name.
func TestToXattrs(t *testing.T) {
	for name, want := range map[string][2]proto.OpMask{
		"user.x": {proto.MayRead, proto.MaySetAttr}, "trusted.x": {proto.MayAdmin, proto.MayAdmin},
		"security.x": {0, proto.MayAdmin}, ACLName: {0, proto.MaySetAttr},
	} {
		require.Equal(t, want[0], ToReadXattr(name), name)
		require.Equal(t, want[1], ToSetXattrs([]string{"user.a", name}), name)
	}
}
