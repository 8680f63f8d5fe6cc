package rights

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

var allRights = []proto.OpMask{
	proto.MayExec, proto.MayWrite, proto.MayRead, proto.MaySetAttr, proto.MayCreate, proto.MayAdmin, proto.MayRemove, proto.MayBatchCreate, proto.MayBatchRemove,
}

// TestEachRightAndEachWayToLoseIt: each right in each kind of capability, of each user, and what takes it away.
func TestEachRightAndEachWayToLoseIt(t *testing.T) {
	const object, given = 7, 10
	ways := []struct {
		name string
		w    Withdrawal
		// left tells whether a right is left.
		left func(is Issue, right proto.OpMask) bool
	}{
		{"nothing happens", Withdrawal{}, func(Issue, proto.OpMask) bool { return true }},
		{"withdrawn before it was given", Withdrawal{At: given - 1, Owner: alice}, func(Issue, proto.OpMask) bool { return true }},
		{"withdrawn", Withdrawal{At: given, Owner: alice}, func(is Issue, _ proto.OpMask) bool {
			return is.Open || is.User != bob
		}},
		{"withdrawn, and the server started again", Withdrawal{At: given, Ended: given, Owner: alice}, func(is Issue, _ proto.OpMask) bool {
			return is.User != bob
		}},
		{"given to another owner", Withdrawal{At: given, Owner: bob}, func(is Issue, _ proto.OpMask) bool {
			return is.Open || is.User != alice
		}},
	}
	for _, way := range ways {
		for _, user := range []uint32{0, alice, bob} {
			for _, open := range []bool{false, true} {
				for _, right := range allRights {
					is := Issue{At: given, User: user, Known: true, Open: open}
					c := Shown(Client, &proto.Capability{Mask: right, Handles: []proto.Handle{object}}, is)
					has := c.Any(right, object) && !way.w.Voids(is)
					inDescriptor := !open || right == proto.MayRead || right == proto.MayWrite
					require.Equal(t, inDescriptor && way.left(is, right), has, "%s: user %d, open %v, right %b", way.name, user, open, right)
				}
			}
		}
	}
	require.True(t, Withdrawal{At: given}.Voids(Issue{At: given}), "of a user who is not known")
	require.Equal(t, Withdrawal{At: 5, Ended: 4, Owner: bob}, Withdrawal{At: 5, Ended: 1, Owner: alice}.Later(Withdrawal{At: 3, Ended: 4, Owner: bob}))
}

// TestCapabilitiesGiveWhatTheySay: of the rights that they list, on the objects that they list.
func TestCapabilitiesGiveWhatTheySay(t *testing.T) {
	for _, proof := range []Proof{Nothing, Client, Server} {
		for _, has := range allRights {
			for _, wants := range append(allRights, proto.MayExec|proto.MayWrite, proto.MayAll, 0) {
				c := Capability{Proof: proof, Mask: has, Handles: []proto.Handle{1, 2}}
				shown := proof != Nothing || wants == 0
				require.Equal(t, shown && (wants == 0 || has&wants != 0), c.Any(wants, 1, 2))
				require.Equal(t, shown && has&wants == wants, c.All(wants, 2))
				require.Equal(t, proof == Nothing && wants == 0, c.Any(wants, 1, 3), "an object that it does not list")
			}
		}
	}
	for _, kind := range []proto.ObjType{proto.TypeMetafile, proto.TypeDirectory, proto.TypeSymlink, proto.TypeDatafile} {
		may, ok := Opened(kind, proto.MayAll)
		require.Equal(t, kind == proto.TypeMetafile, ok, "only files are opened")
		require.Equal(t, proto.MayRead|proto.MayWrite, may)
	}
}

// TestNarrows: whose rights a change takes away.
func TestNarrows(t *testing.T) {
	file := func(owner, group, mode uint32) Object {
		return Object{Type: proto.TypeMetafile, Owner: owner, Group: group, Mode: mode}
	}
	for _, c := range []struct {
		before, after Object
		narrows, open bool
	}{
		{file(1, 1, 0o644), file(1, 1, 0o644), false, false},
		{file(1, 1, 0o644), file(1, 1, 0o666), false, false},
		{file(1, 1, 0o644), file(1, 1, 0o640), true, false},
		{file(1, 1, 0o644), file(2, 1, 0o644), true, false},
		{file(1, 1, 0o644), file(1, 2, 0o644), true, false},
		{file(1, 1, 0o755), file(1, 1, 0o4755), true, true},
		{file(1, 1, 0o755), file(1, 1, 0o2755), true, true},
		{file(1, 1, 0o745), file(1, 1, 0o2745), false, false},
		{file(1, 1, 0o4755), file(1, 1, 0o6755), false, false},
		{file(1, 1, 0o4755), file(1, 1, 0o755), true, false},
		{Object{Type: proto.TypeDatafile, Mode: 0o777}, Object{Type: proto.TypeDatafile}, false, false},
		{Object{Type: proto.TypeDirectory, Mode: 0o777}, Object{Type: proto.TypeDirectory, Mode: 0o6777}, false, false},
	} {
		narrows, open := Narrows(c.before, c.after)
		require.Equal(t, c.narrows, narrows, "%+v", c)
		require.Equal(t, c.open, open, "%+v", c)
	}
}
