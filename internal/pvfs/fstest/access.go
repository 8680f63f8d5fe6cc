package fstest

import (
	"os"
	"slices"
	"syscall"

	"github.com/stretchr/testify/require"
)

// The users of the cases. A and B share a group.
var (
	userA = User{UID: 1001, Groups: []uint32{1001, 2000}}
	userB = User{UID: 1002, Groups: []uint32{1002, 2000}}
	userC = User{UID: 1003, Groups: []uint32{1003}}
)

// classes are the three ways in which a mode applies to a user. The object belongs to A and to the common group of A and B.
var classes = []struct {
	name  string
	user  User
	shift int
}{{"Owner", userA, 6}, {"Group", userB, 3}, {"Other", userC, 0}}

// An attempt is an operation that needs rights in a mode. right has their bits. parent: they are needed in the directory of the
// object.
type attempt struct {
	name  string
	right uint32
	kind  Kind
	does  func(a *actor) error
}

var attempts = []attempt{
	{"Read", mayRead, IsFile, func(a *actor) error { return a.try("x", os.O_RDONLY, 0) }},
	{"Write", mayWrite, IsFile, func(a *actor) error { return a.try("x", os.O_WRONLY, 0) }},
	{"ReadWrite", mayRead | mayWrite, IsFile, func(a *actor) error { return a.try("x", os.O_RDWR, 0) }},
	{"OpenTruncate", mayWrite, IsFile, func(a *actor) error { return a.try("x", os.O_WRONLY|os.O_TRUNC, 0) }},
	{"Truncate", mayWrite, IsFile, func(a *actor) error { return a.fs.Truncate(a.at("x"), 3) }},
	{"List", mayRead, IsDir, func(a *actor) error { _, err := a.fs.ReadDir(a.at("x")); return err }},
	{"Search", mayExec, IsDir, func(a *actor) error { _, err := a.fs.Stat(a.at("x/f")); return err }},
	{"OpenBelow", mayExec, IsDir, func(a *actor) error { return a.try("x/f", os.O_RDONLY, 0) }},
	{"SearchDeeper", mayExec, IsDir, func(a *actor) error { _, err := a.fs.Stat(a.at("x/d/g")); return err }},
	{"CreateBelow", mayExec | mayWrite, IsDir, func(a *actor) error { return a.try("x/new", os.O_CREATE|os.O_RDWR, 0o644) }},
	{"MkdirBelow", mayExec | mayWrite, IsDir, func(a *actor) error { return a.fs.Mkdir(a.at("x/new"), 0o755) }},
	{"SymlinkBelow", mayExec | mayWrite, IsDir, func(a *actor) error { return a.fs.Symlink("t", a.at("x/new")) }},
	{"RemoveBelow", mayExec | mayWrite, IsDir, func(a *actor) error { return a.fs.Remove(a.at("x/f")) }},
	{"RemoveDirBelow", mayExec | mayWrite, IsDir, func(a *actor) error { return a.fs.Remove(a.at("x/empty")) }},
	{"RenameBelow", mayExec | mayWrite, IsDir, func(a *actor) error { return a.fs.Rename(a.at("x/f"), a.at("x/new")) }},
	{"RenameOut", mayExec | mayWrite, IsDir, func(a *actor) error { return a.fs.Rename(a.at("x/f"), a.at("new")) }},
	{"RenameIn", mayExec | mayWrite, IsDir, func(a *actor) error { return a.fs.Rename(a.at("source"), a.at("x/new")) }},
}

// accessCases try each operation for each class, with and without each right.
var accessCases = func() Cases {
	var out Cases
	for _, at := range attempts {
		for _, class := range classes {
			needs := []Ability{Users}
			if at.name == "SymlinkBelow" {
				needs = append(needs, Symlinks)
			}
			out = append(out,
				Case{at.name + "By" + class.name, needs, func(e *Env) {
					u := prepare(e, at.kind, at.right<<class.shift, class.user)
					require.NoError(e, at.does(u), "mode %o", at.right<<class.shift)
				}},
				// The other classes have all rights, or the less specific ones lack the same rights.
				Case{at.name + "RefusedTo" + class.name, refusedNeeds(needs, class.shift), func(e *Env) {
					refused(e, at, class.user, func(bit uint32) uint32 { return bit << class.shift })
				}},
			)
			if class.shift > 0 {
				out = append(out, Case{at.name + "RefusedFrom" + class.name, needs, func(e *Env) {
					refused(e, at, class.user, func(bit uint32) uint32 { return bit * 0o111 & (0o10<<class.shift - 1) })
				}})
			}
		}
	}
	return append(out, needing(moreAccessCases, Users)...)
}()

// refusedNeeds are the abilities needed if a mode refuses one class the rights that it gives to all others.
func refusedNeeds(needs []Ability, shift int) []Ability {
	if shift == 0 {
		return needs
	}
	return append(slices.Clone(needs), OneClass)
}

// refused tries without each right in turn. without returns the missing bits of the mode.
func refused(e *Env, at attempt, u User, without func(bit uint32) uint32) {
	for bit := uint32(1); bit <= 4; bit <<= 1 {
		if at.right&bit != 0 {
			a := prepare(e, at.kind, 0o777&^without(bit), u)
			e.denied(at.does(a))
			e.root.unchanged(at.kind)
			require.NoError(e, removeAll(e.root.fs, e.at("x")))
		}
	}
}

// prepare makes the object of an attempt with a mode.
func prepare(e *Env, kind Kind, mode uint32, u User) *actor {
	e.root.mkdir("x")
	if kind == IsFile {
		e.root.remove("x")
		e.root.put("x", []byte("contents"))
	} else {
		e.root.put("x/f", []byte("file"))
		e.root.chmod("x/f", 0o666)
		e.root.mkdir("x/d")
		e.root.put("x/d/g", nil)
		e.root.mkdir("x/empty")
	}
	e.root.put("source", nil)
	e.root.chown("x", int(userA.UID), 2000)
	e.root.chmod("x", mode)
	return e.as(u)
}

// unchanged requires that the refused operation had no effect, and removes everything outside x.
func (a *actor) unchanged(kind Kind) {
	a.Helper()
	require.Equal(a, []string{"source", "x"}, a.list("."))
	if kind == IsFile {
		a.holds("x", []byte("contents"))
		a.remove("x")
		a.mkdir("x")
		return
	}
	require.Equal(a, []string{"d", "empty", "f"}, a.list("x"))
}

var moreAccessCases = Cases{
	one("AccessRootMayAll", func(e *Env) {
		a := e.as(userA)
		a.put("f", text(1, 10))
		a.mkdir("d")
		a.put("d/g", nil)
		a.chmod("f", 0)
		a.chmod("d", 0)
		e.root.put("f", text(2, 10))
		e.root.holds("f", text(2, 10))
		e.root.put("d/h", nil)
		require.Equal(e, []string{"g", "h"}, e.root.list("d"))
		e.root.remove("d/g")
	}),
	{"AccessOwnerBeforeGroup", []Ability{OneClass}, func(e *Env) {
		// The owner is refused although group and others may.
		a := e.as(userA)
		a.put("f", nil)
		a.chown("f", -1, 2000)
		a.chmod("f", 0o077)
		e.denied(a.try("f", os.O_RDONLY, 0))
		require.NoError(e, e.as(userB).try("f", os.O_RDWR, 0))
		require.NoError(e, e.as(userC).try("f", os.O_RDWR, 0))
	}},
	{"AccessGroupBeforeOther", []Ability{OneClass}, func(e *Env) {
		a := e.as(userA)
		a.put("f", nil)
		a.chown("f", -1, 2000)
		a.chmod("f", 0o707)
		e.denied(e.as(userB).try("f", os.O_RDONLY, 0))
		require.NoError(e, e.as(userC).try("f", os.O_RDONLY, 0))
	}},
	one("AccessByLaterGroup", func(e *Env) {
		e.root.put("f", nil)
		e.root.chown("f", 0, 2000)
		e.root.chmod("f", 0o060)
		require.NoError(e, e.as(userB).try("f", os.O_RDWR, 0))
		e.denied(e.as(userC).try("f", os.O_RDWR, 0))
	}),
	one("AccessChangesAtOnce", func(e *Env) {
		a, c := e.as(userA), e.as(userC)
		a.put("f", text(1, 10))
		c.holds("f", text(1, 10))
		a.chmod("f", 0o600)
		e.denied(c.try("f", os.O_RDONLY, 0))
		a.chmod("f", 0o644)
		c.holds("f", text(1, 10))
		e.denied(c.try("f", os.O_WRONLY, 0))
	}),
	{"AccessOfNewFileByItsMaker", []Ability{RightsOfOpen}, func(e *Env) {
		// The mode applies to later opens. The creator may write the open file even if the mode forbids it.
		a := e.as(userA)
		f := a.open("f", os.O_RDWR|os.O_CREATE, 0o400)
		e.writeAt(f, 0, text(1, 10))
		require.NoError(e, f.Close())
		a.holds("f", text(1, 10))
		e.denied(a.try("f", os.O_WRONLY, 0))
	}},
	{"AccessKeptByHandle", []Ability{RightsOfOpen}, func(e *Env) {
		a := e.as(userA)
		a.put("f", text(1, 10))
		a.chmod("f", 0o666)
		f := e.as(userC).open("f", os.O_RDWR, 0)
		a.chmod("f", 0)
		e.readAt(f, 0, text(1, 10))
		e.writeAt(f, 0, text(2, 10))
	}},
	one("AccessToRemoveIsTheDirectorys", func(e *Env) {
		a := e.as(userA)
		e.root.put("f", nil)
		e.root.chmod("f", 0)
		a.remove("f")
		e.root.absent("f")
	}),
	one("AccessThroughOpenParents", func(e *Env) {
		a := e.as(userA)
		e.root.mkdir("d")
		e.root.mkdir("d/e")
		e.root.put("d/e/f", text(1, 10))
		e.root.chmod("d", 0o711)
		a.holds("d/e/f", text(1, 10))
		_, err := a.fs.ReadDir(a.at("d"))
		e.denied(err)
		e.root.chmod("d", 0o700)
		e.denied(a.try("d/e/f", os.O_RDONLY, 0))
		e.denied(a.try("d/e/none", os.O_RDONLY, 0))
	}),
	one("AccessExistsBeforeRefusal", func(e *Env) {
		a := e.as(userA)
		e.root.mkdir("d")
		e.root.put("d/f", nil)
		e.fails(a.fs.Mkdir(a.at("d/f"), 0o755), syscall.EEXIST, syscall.EACCES, syscall.EPERM)
		e.fails(a.try("d/none", os.O_RDONLY, 0), syscall.ENOENT)
	}),
}
