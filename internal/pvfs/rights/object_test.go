package rights

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A small world: root, two users, and three groups in all memberships.
const (
	alice, bob        = 1000, 1001
	staff, wheel, ops = 50, 51, 52
)

// people are root and the two users in each set of groups, with each of them as the primary one.
func people() (all []Identity) {
	for _, uid := range []uint32{0, alice, bob} {
		for _, groups := range [][]uint32{
			{staff}, {wheel}, {ops}, {staff, wheel}, {wheel, staff}, {staff, ops}, {ops, staff}, {wheel, ops}, {ops, wheel}, {staff, wheel, ops}, {0}, {staff, 0},
		} {
			all = append(all, Identity{uid, groups})
		}
	}
	return append(all, Identity{}, Identity{UID: alice})
}

// TestRightsAreThoseOfTheMode: one class of the mode decides, for every mode of a file and of a directory.
func TestRightsAreThoseOfTheMode(t *testing.T) {
	world := people()
	for _, kind := range []proto.ObjType{proto.TypeMetafile, proto.TypeDirectory, proto.TypeDatafile, proto.TypeDirdata, proto.TypeSymlink} {
		for mode := range uint32(0o1000) {
			for _, owner := range []uint32{0, alice, bob} {
				for _, group := range []uint32{0, staff, ops} {
					o := Object{Type: kind, Owner: owner, Group: group, Mode: mode}
					for _, who := range world {
						if got, want := Of(o, who), posix(o, who); got != want {
							t.Fatalf("%+v %+v: %b, not %b", o, who, got, want)
						}
					}
				}
			}
		}
	}
}

// posix is what path_resolution(7) says, bit by bit.
func posix(o Object, who Identity) proto.OpMask {
	class := 0
	switch {
	case len(who.Groups) == 0:
		return 0
	case who.UID == 0 && o.Type == proto.TypeDirectory:
		return proto.MayAll
	case who.UID == 0:
		return proto.MayAll &^ (proto.MayCreate | proto.MayRemove)
	case o.Type == proto.TypeDatafile || o.Type == proto.TypeDirdata:
		return 0
	case who.UID == o.Owner:
		class = 6
	default:
		for _, g := range who.Groups {
			if g == o.Group {
				class = 3
			}
		}
	}
	var m proto.OpMask
	for bit, right := range []proto.OpMask{proto.MayExec, proto.MayWrite, proto.MayRead} {
		if o.Mode>>class&(1<<bit) != 0 {
			m |= right
		}
	}
	if o.Type == proto.TypeDirectory && o.Mode&(3<<class) == 3<<class {
		m |= proto.MayCreate | proto.MayRemove
	}
	if who.UID == o.Owner {
		m |= proto.MaySetAttr
	}
	return m
}

// list makes an access control list of entries: tag, permissions, id.
func list(entries ...[3]uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
		b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
		b = binary.LittleEndian.AppendUint32(b, e[2])
	}
	return b
}

// TestAccessControlLists: as acl(5) has it, for each of the entries that a user may match and each mask.
func TestAccessControlLists(t *testing.T) {
	bits := func(perm uint32) (m proto.OpMask) {
		if perm&4 != 0 {
			m |= proto.MayRead
		}
		if perm&2 != 0 {
			m |= proto.MayWrite
		}
		if perm&1 != 0 {
			m |= proto.MayExec
		}
		return m
	}
	for mask := range uint32(8) {
		for perm := range uint32(8) {
			o := Object{Type: proto.TypeMetafile, Owner: alice, Group: staff, Mode: 0o777, ACL: list(
				[3]uint32{aclUserObj, 6}, [3]uint32{aclUser, perm, bob}, [3]uint32{aclGroupObj, 1}, [3]uint32{aclGroup, perm, wheel},
				[3]uint32{aclMask, mask}, [3]uint32{aclOther, 5},
			)}
			require.Equal(t, bits(6)|proto.MaySetAttr, Of(o, Identity{alice, []uint32{wheel}}), "the mask does not apply to the owner")
			require.Equal(t, bits(perm&mask), Of(o, Identity{bob, []uint32{staff, wheel}}), "a user of the list, whatever its groups")
			require.Equal(t, bits(1&mask), Of(o, Identity{7, []uint32{staff}}), "the group")
			require.Equal(t, bits(perm&mask), Of(o, Identity{7, []uint32{ops, wheel}}), "a group of the list")
			require.Equal(t, bits((1|perm)&mask), Of(o, Identity{7, []uint32{wheel, staff}}), "two groups")
			require.Equal(t, bits(5), Of(o, Identity{7, []uint32{ops}}), "the mask does not apply to others")
		}
	}
	for _, invalid := range [][]byte{nil, {}, list(), list([3]uint32{aclOther, 7})[:8], append(list([3]uint32{aclOther, 7}), 0)} {
		require.False(t, ValidACL(invalid))
		require.Zero(t, Of(Object{Type: proto.TypeMetafile, Owner: alice, ACL: append(invalid, 1)}, Identity{bob, []uint32{ops}}), "a list that cannot be read gives nothing")
	}
}
