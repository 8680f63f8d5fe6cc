package fstest

import (
	"os"
	"syscall"

	"github.com/stretchr/testify/require"
)

// removeCases remove objects, and check that nothing else is removed.
var removeCases = Cases{
	one("RemoveFile", func(e *Env) {
		e.root.put("f", text(1, 200000))
		e.root.put("g", text(2, 10))
		e.root.remove("f")
		e.root.absent("f")
		e.fails(e.root.fs.Remove(e.at("f")), syscall.ENOENT)
		e.root.holds("g", text(2, 10))
	}),
	one("RemoveDirectory", func(e *Env) {
		e.root.mkdir("d")
		e.root.remove("d")
		e.root.absent("d")
	}),
	one("RemoveFullDirectory", func(e *Env) {
		e.root.mkdir("d")
		e.root.put("d/f", text(1, 10))
		e.fails(e.root.fs.Remove(e.at("d")), syscall.ENOTEMPTY, syscall.EEXIST)
		e.root.holds("d/f", text(1, 10))
		require.Equal(e, []string{"d"}, e.root.list("."))
		e.root.remove("d/f")
		e.root.remove("d")
	}),
	one("RemoveDirectoryOfDirectories", func(e *Env) {
		e.root.mkdir("d")
		e.root.mkdir("d/e")
		e.fails(e.root.fs.Remove(e.at("d")), syscall.ENOTEMPTY, syscall.EEXIST)
		e.root.remove("d/e")
		e.root.remove("d")
	}),
	one("RemoveAndMakeAgain", func(e *Env) {
		for i := range 10 {
			e.root.put("x", text(uint64(i), 100+i))
			e.root.holds("x", text(uint64(i), 100+i))
			e.root.remove("x")
			e.root.mkdir("x")
			require.Empty(e, e.root.list("x"))
			e.root.remove("x")
		}
	}),
	one("RemoveLosesAttributes", func(e *Env) {
		e.root.put("f", nil)
		e.root.chmod("f", 0o600)
		e.root.chown("f", 5, 6)
		e.root.remove("f")
		e.root.put("f", nil)
		info := e.root.lstat("f")
		require.EqualValues(e, 0o644, info.Mode)
		require.Zero(e, info.UID)
	}),
	{"RemoveSymlinkNotTarget", []Ability{Symlinks}, func(e *Env) {
		e.root.put("f", text(1, 10))
		e.root.symlink("f", "l")
		e.root.remove("l")
		e.root.absent("l")
		e.root.holds("f", text(1, 10))
	}},
	{"RemoveSymlinkToDirectory", []Ability{Symlinks}, func(e *Env) {
		e.root.mkdir("d")
		e.root.put("d/f", text(1, 10))
		e.root.symlink("d", "l")
		e.root.remove("l")
		e.root.holds("d/f", text(1, 10))
	}},
	{"RemoveDanglingSymlink", []Ability{Symlinks}, func(e *Env) {
		e.root.symlink("nowhere", "l")
		e.root.remove("l")
		e.root.absent("l")
	}},
	{"RemoveThroughSymlink", []Ability{Symlinks}, func(e *Env) {
		e.root.mkdir("d")
		e.root.put("d/f", nil)
		e.root.symlink("d", "l")
		e.root.remove("l/f")
		require.Empty(e, e.root.list("d"))
	}},
	one("RemoveManyFiles", func(e *Env) {
		for i := range 200 {
			e.root.put(name("f%03d", i), text(1, i))
		}
		for i := range 200 {
			e.root.remove(name("f%03d", i))
		}
		require.Empty(e, e.root.list("."))
	}),
	one("RemoveWhileOpenElsewhere", func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
		e.writeAt(f, 0, text(1, 100))
		e.root.remove("f")
		e.root.absent("f")
		require.Empty(e, e.root.list("."))
	}),
}
