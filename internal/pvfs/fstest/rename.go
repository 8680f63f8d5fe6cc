package fstest

import (
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"
)

// renameCases move files and directories, to free names and onto objects of all kinds.
var renameCases = Cases{
	one("RenameFile", func(e *Env) {
		e.root.put("a", text(1, 100000))
		e.root.rename("a", "b")
		e.root.absent("a")
		e.root.holds("b", text(1, 100000))
		require.Equal(e, []string{"b"}, e.root.list("."))
	}),
	one("RenameToOtherDirectory", func(e *Env) {
		e.root.mkdir("d")
		e.root.mkdir("e")
		e.root.put("d/f", text(1, 10))
		e.root.rename("d/f", "e/g")
		require.Empty(e, e.root.list("d"))
		e.root.holds("e/g", text(1, 10))
	}),
	one("RenameDirectory", func(e *Env) {
		e.root.mkdir("d")
		e.root.put("d/f", text(1, 10))
		e.root.rename("d", "e")
		e.root.absent("d")
		e.root.holds("e/f", text(1, 10))
		e.fails(e.root.try("d/f", 0, 0), syscall.ENOENT)
	}),
	one("RenameDirectoryDeeper", func(e *Env) {
		e.root.mkdir("d")
		e.root.put("d/f", text(1, 10))
		e.root.mkdir("e")
		e.root.rename("d", "e/d")
		e.root.holds("e/d/f", text(1, 10))
		require.Equal(e, []string{"e"}, e.root.list("."))
		e.root.holds("e/d/../d/f", text(1, 10))
	}),
	one("RenameKeepsAttributes", func(e *Env) {
		e.root.put("a", nil)
		e.root.chmod("a", 0o640)
		e.root.chown("a", 11, 22)
		before := e.root.lstat("a")
		e.root.rename("a", "b")
		after := e.root.lstat("b")
		require.Equal(e, before.Mode, after.Mode)
		require.Equal(e, before.UID, after.UID)
		require.Equal(e, before.GID, after.GID)
		require.Equal(e, before.Modified.Unix(), after.Modified.Unix())
	}),
	one("RenameOverFile", func(e *Env) {
		e.root.put("a", text(1, 100))
		e.root.put("b", text(2, 200000))
		e.root.rename("a", "b")
		e.root.absent("a")
		e.root.holds("b", text(1, 100))
		require.Equal(e, []string{"b"}, e.root.list("."))
	}),
	one("RenameOverFileInOtherDirectory", func(e *Env) {
		e.root.mkdir("d")
		e.root.put("a", text(1, 100))
		e.root.put("d/b", text(2, 100))
		e.root.rename("a", "d/b")
		e.root.holds("d/b", text(1, 100))
		require.Equal(e, []string{"d"}, e.root.list("."))
	}),
	one("RenameOverEmptyDirectory", func(e *Env) {
		e.root.mkdir("a")
		e.root.put("a/f", text(1, 10))
		e.root.mkdir("b")
		e.root.rename("a", "b")
		e.root.holds("b/f", text(1, 10))
		require.Equal(e, []string{"b"}, e.root.list("."))
	}),
	one("RenameOverFullDirectory", func(e *Env) {
		e.root.mkdir("a")
		e.root.put("a/f", text(1, 10))
		e.root.mkdir("b")
		e.root.put("b/g", text(2, 10))
		e.fails(e.root.fs.Rename(e.at("a"), e.at("b")), syscall.ENOTEMPTY, syscall.EEXIST)
		e.root.holds("a/f", text(1, 10))
		e.root.holds("b/g", text(2, 10))
	}),
	one("RenameFileOverDirectory", func(e *Env) {
		e.root.put("a", text(1, 10))
		e.root.mkdir("b")
		e.fails(e.root.fs.Rename(e.at("a"), e.at("b")), syscall.EISDIR)
		e.root.holds("a", text(1, 10))
		require.Equal(e, IsDir, e.root.lstat("b").Kind)
	}),
	one("RenameDirectoryOverFile", func(e *Env) {
		e.root.mkdir("a")
		e.root.put("b", text(1, 10))
		e.fails(e.root.fs.Rename(e.at("a"), e.at("b")), syscall.ENOTDIR)
		e.root.holds("b", text(1, 10))
		require.Equal(e, IsDir, e.root.lstat("a").Kind)
	}),
	one("RenameToItself", func(e *Env) {
		e.root.put("a", text(1, 10))
		e.root.rename("a", "a")
		e.root.holds("a", text(1, 10))
		e.root.mkdir("d")
		e.root.put("d/f", text(2, 10))
		e.root.rename("d", "d")
		e.root.holds("d/f", text(2, 10))
	}),
	one("RenameIntoItself", func(e *Env) {
		e.root.mkdir("d")
		e.fails(e.root.fs.Rename(e.at("d"), e.at("d/x")), syscall.EINVAL)
		require.Equal(e, []string{"d"}, e.root.list("."))
		require.Empty(e, e.root.list("d"))
	}),
	one("RenameIntoOwnGrandchild", func(e *Env) {
		e.root.mkdir("d")
		e.root.mkdir("d/e")
		e.root.mkdir("d/e/f")
		e.fails(e.root.fs.Rename(e.at("d"), e.at("d/e/f/x")), syscall.EINVAL)
		require.Equal(e, []string{"e"}, e.root.list("d"))
	}),
	one("RenameOverOwnParent", func(e *Env) {
		e.root.mkdir("d")
		e.root.mkdir("d/e")
		e.fails(e.root.fs.Rename(e.at("d/e"), e.at("d")), syscall.ENOTEMPTY, syscall.EEXIST)
		require.Equal(e, []string{"e"}, e.root.list("d"))
	}),
	one("RenameLongNames", func(e *Env) {
		long := strings.Repeat("l", 255)
		e.root.put("a", text(1, 10))
		e.root.rename("a", long)
		e.root.holds(long, text(1, 10))
		e.fails(e.root.fs.Rename(e.at(long), e.at(long+"l")), syscall.ENAMETOOLONG)
		e.root.holds(long, text(1, 10))
	}),
	one("RenameBackAndForth", func(e *Env) {
		e.root.put("a", text(1, 10))
		for range 20 {
			e.root.rename("a", "b")
			e.root.rename("b", "a")
		}
		e.root.holds("a", text(1, 10))
		require.Equal(e, []string{"a"}, e.root.list("."))
	}),
	one("RenameChain", func(e *Env) {
		for i := range 10 {
			e.root.put(name("f%d", i), text(uint64(i), 100))
		}
		for i := range 9 {
			e.root.rename(name("f%d", i+1), name("f%d", i))
		}
		require.Len(e, e.root.list("."), 9)
		for i := range 9 {
			e.root.holds(name("f%d", i), text(uint64(i+1), 100))
		}
	}),
	{"RenameSymlinkNotTarget", []Ability{Symlinks}, func(e *Env) {
		e.root.put("f", text(1, 10))
		e.root.symlink("f", "l")
		e.root.rename("l", "m")
		target, err := e.root.fs.Readlink(e.at("m"))
		require.NoError(e, err)
		require.Equal(e, "f", target)
		e.root.holds("f", text(1, 10))
		e.root.absent("l")
	}},
	{"RenameOverSymlink", []Ability{Symlinks}, func(e *Env) {
		e.root.put("f", text(1, 10))
		e.root.put("g", text(2, 10))
		e.root.symlink("f", "l")
		e.root.rename("g", "l")
		require.Equal(e, IsFile, e.root.lstat("l").Kind)
		e.root.holds("l", text(2, 10))
		e.root.holds("f", text(1, 10))
	}},
	{"RenameOverSymlinkToDirectory", []Ability{Symlinks}, func(e *Env) {
		e.root.mkdir("d")
		e.root.put("f", text(1, 10))
		e.root.symlink("d", "l")
		e.root.rename("f", "l")
		e.root.holds("l", text(1, 10))
		require.Empty(e, e.root.list("d"))
	}},
	{"RenameDirectoryOverSymlink", []Ability{Symlinks}, func(e *Env) {
		e.root.mkdir("d")
		e.root.symlink("nowhere", "l")
		e.fails(e.root.fs.Rename(e.at("d"), e.at("l")), syscall.ENOTDIR)
		require.Equal(e, IsSymlink, e.root.lstat("l").Kind)
	}},
	{"RenameThroughSymlinkIntoItself", []Ability{Symlinks}, func(e *Env) {
		e.root.mkdir("d")
		e.root.symlink("d", "l")
		e.fails(e.root.fs.Rename(e.at("d"), e.at("l/x")), syscall.EINVAL)
		require.Empty(e, e.root.list("d"))
	}},
}
