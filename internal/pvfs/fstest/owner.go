package fstest

import (
	"github.com/stretchr/testify/require"
)

// modes are the modes to test.
var modes = []uint32{0, 0o001, 0o010, 0o100, 0o400, 0o644, 0o700, 0o777, 0o2755, 0o4755, 0o6711}

// ownerCases test who owns an object, and who may change its owner and mode.
var ownerCases = func() Cases {
	var out Cases
	for _, mode := range modes {
		out = append(out,
			one(name("ModeOfFile%04o", mode), func(e *Env) {
				e.root.put("f", text(1, 10))
				e.root.chmod("f", mode)
				require.Equal(e, name("%o", mode), name("%o", e.root.lstat("f").Mode))
				e.root.holds("f", text(1, 10))
			}),
			one(name("ModeOfDirectory%04o", mode), func(e *Env) {
				e.root.mkdir("d")
				e.root.chmod("d", mode)
				require.Equal(e, name("%o", mode), name("%o", e.root.lstat("d").Mode))
			}),
		)
	}
	for _, mode := range []uint32{0, 0o400, 0o600, 0o644, 0o666, 0o777} {
		out = append(out, one(name("CreateWithMode%04o", mode), func(e *Env) {
			require.NoError(e, e.root.try("f", 0o102, mode))
			require.NoError(e, e.root.fs.Mkdir(e.at("d"), mode))
			require.Equal(e, name("%o", mode), name("%o", e.root.lstat("f").Mode))
			require.Equal(e, name("%o", mode), name("%o", e.root.lstat("d").Mode))
		}))
	}
	return append(out, needing(moreOwnerCases, Users)...)
}()

var moreOwnerCases = Cases{
	one("OwnerIsWhoCreates", func(e *Env) {
		a := e.as(userA)
		a.put("f", nil)
		a.mkdir("d")
		for _, name := range []string{"f", "d"} {
			info := e.root.lstat(name)
			require.Equal(e, userA.UID, info.UID, name)
			require.Equal(e, userA.Groups[0], info.GID, name)
		}
	}),
	{"OwnerOfSymlink", []Ability{Symlinks}, func(e *Env) {
		e.as(userA).symlink("t", "l")
		require.Equal(e, userA.UID, e.root.lstat("l").UID)
	}},
	one("ChownByRoot", func(e *Env) {
		e.root.put("f", nil)
		e.root.chown("f", 5, 6)
		info := e.root.lstat("f")
		require.EqualValues(e, 5, info.UID)
		require.EqualValues(e, 6, info.GID)
		e.root.chown("f", -1, 7)
		e.root.chown("f", 8, -1)
		info = e.root.lstat("f")
		require.EqualValues(e, 8, info.UID)
		require.EqualValues(e, 7, info.GID)
	}),
	one("ChownLargeIDs", func(e *Env) {
		e.root.put("f", nil)
		e.root.chown("f", 1<<31-1, 1<<31+5)
		info := e.root.lstat("f")
		require.EqualValues(e, 1<<31-1, info.UID)
		require.EqualValues(e, 1<<31+5, info.GID)
	}),
	one("ChownGivesAway", func(e *Env) {
		a := e.as(userA)
		a.put("f", nil)
		e.denied(a.fs.Chown(a.at("f"), int(userB.UID), -1))
		require.Equal(e, userA.UID, e.root.lstat("f").UID)
	}),
	one("ChownToOwnGroup", func(e *Env) {
		a := e.as(userA)
		a.put("f", nil)
		a.chown("f", -1, 2000)
		require.EqualValues(e, 2000, e.root.lstat("f").GID)
	}),
	one("ChownToForeignGroup", func(e *Env) {
		a := e.as(userA)
		a.put("f", nil)
		e.denied(a.fs.Chown(a.at("f"), -1, 3000))
		require.Equal(e, userA.Groups[0], e.root.lstat("f").GID)
	}),
	one("ChownOfOthers", func(e *Env) {
		e.as(userA).put("f", nil)
		b := e.as(userB)
		e.denied(b.fs.Chown(b.at("f"), int(userB.UID), -1))
		e.denied(b.fs.Chown(b.at("f"), -1, 2000))
		require.Equal(e, userA.UID, e.root.lstat("f").UID)
	}),
	one("ChmodOfOthers", func(e *Env) {
		a, b := e.as(userA), e.as(userB)
		a.put("f", nil)
		a.chmod("f", 0o666)
		e.denied(b.fs.Chmod(b.at("f"), 0o777))
		require.EqualValues(e, 0o666, e.root.lstat("f").Mode)
		e.root.chmod("f", 0o640)
		require.EqualValues(e, 0o640, e.root.lstat("f").Mode)
	}),
	one("ChmodNeedsNoRight", func(e *Env) {
		a := e.as(userA)
		a.put("f", nil)
		a.chmod("f", 0)
		a.chmod("f", 0o600)
		require.NoError(e, a.try("f", 2, 0))
	}),
	one("ChtimesOfOthers", func(e *Env) {
		a, b := e.as(userA), e.as(userB)
		a.put("f", nil)
		a.chmod("f", 0o600)
		e.denied(b.fs.Chtimes(b.at("f"), someTime, someTime))
		require.NotEqual(e, someTime.Unix(), e.root.lstat("f").Modified.Unix())
	}),
	{"SetGIDDirectoryGivesGroup", []Ability{SetGIDDir}, func(e *Env) {
		e.root.mkdir("d")
		e.root.chown("d", -1, 2000)
		e.root.chmod("d", 0o2777)
		a := e.as(userA)
		a.put("d/f", nil)
		a.mkdir("d/e")
		require.EqualValues(e, 2000, e.root.lstat("d/f").GID)
		require.EqualValues(e, 2000, e.root.lstat("d/e").GID)
		require.NotZero(e, e.root.lstat("d/e").Mode&0o2000, "directories below inherit the bit")
	}},
}
