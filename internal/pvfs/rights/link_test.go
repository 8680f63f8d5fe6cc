package rights

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestNobodyLinksWhatIsNotTheirs: each mode of an object and of the directory where it is, each owner of both, each user. There is
// a rule of Linux for each name that is given.
func TestNobodyLinksWhatIsNotTheirs(t *testing.T) {
	const here, there = 1, 2
	world := people()
	for _, kind := range []proto.ObjType{proto.TypeMetafile, proto.TypeSymlink, proto.TypeDirectory} {
		for _, mode := range []uint32{0, 0o600, 0o700, 0o660, 0o066, 0o644, 0o666, 0o755, 0o777, 0o4777, 0o2777, 0o6666} {
			for _, outside := range []uint32{0, 0o700, 0o770, 0o707, 0o755, 0o666, 0o777} {
				for _, owner := range []uint32{0, alice} {
					for _, owns := range []uint32{0, alice, bob} {
						for _, parent := range []proto.Handle{0, here, there} {
							for _, who := range world {
								o := Object{Type: kind, Owner: owner, Group: staff, Mode: mode}
								around := Object{Type: proto.TypeDirectory, Owner: owns, Group: staff, Mode: outside}
								target := Target{Object: o, Parent: parent, May: Of(o, who)}
								if parent == there {
									target.MayThere = Of(around, who)
								}
								got, want := Link(who, here, target) == nil, linux(o, around, who, parent == here, parent == 0)
								if got != want {
									t.Fatalf("%+v in %+v (%d) by %+v: %v", o, around, parent, who, got)
								}
							}
						}
					}
				}
			}
		}
	}
}

// linux says the same in terms of Linux's may_delete, may_linkat and vfs_rename.
func linux(o, around Object, who Identity, same, unknown bool) bool {
	if len(who.Groups) == 0 {
		return same // its capability has the right to change the directory
	}
	owner := who.UID == 0 || who.UID == o.Owner
	writes := func(o Object, bits uint32) bool {
		class := o.Mode
		if who.UID == o.Owner {
			class >>= 6
		} else if who.In(o.Group) {
			class >>= 3
		}
		return who.UID == 0 || class&bits == bits
	}
	mayDelete := same || !unknown && writes(around, 3)
	if o.Type == proto.TypeDirectory {
		return same || unknown && owner || mayDelete && writes(o, 2)
	}
	hardlink := owner || o.Type == proto.TypeMetafile && writes(o, 6) && o.Mode&setUID == 0 && o.Mode&(setGID|0o10) != setGID|0o10
	return hardlink || mayDelete
}

// TestWhatHasNoSecondName: the root, a directory around the new name, and parts of objects get no name from anybody.
func TestWhatHasNoSecondName(t *testing.T) {
	for _, who := range people() {
		for _, kind := range []proto.ObjType{proto.TypeDatafile, proto.TypeDirdata, proto.TypeNone} {
			require.Equal(t, proto.EINVAL, Link(who, 1, Target{Object: Object{Type: kind}, Parent: 1, May: proto.MayAll}))
		}
		dir := Object{Type: proto.TypeDirectory}
		require.Equal(t, proto.EBUSY, Link(who, 1, Target{Object: dir, Root: true, Parent: 1, May: proto.MayAll, MayThere: proto.MayAll}))
		require.Equal(t, proto.EINVAL, Link(who, 1, Target{Object: dir, Around: true, Parent: 2, May: proto.MayAll, MayThere: proto.MayAll}))
	}
}
