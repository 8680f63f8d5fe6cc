package fstest

import (
	"os"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"
)

// symlinkCases make and follow links, also wrong ones.
var symlinkCases = needing(append(Cases{
	one("SymlinkToFile", func(e *Env) {
		e.root.put("f", text(1, 100))
		e.root.symlink("f", "l")
		e.root.get("l")
		require.Equal(e, IsFile, e.root.stat("l").Kind)
		info := e.root.lstat("l")
		require.Equal(e, IsSymlink, info.Kind)
		require.EqualValues(e, 1, info.Size)
		require.Equal(e, []string{"f", "l"}, e.root.list("."))
	}),
	one("SymlinkToDirectory", func(e *Env) {
		e.root.mkdir("d")
		e.root.put("d/f", text(1, 10))
		e.root.symlink("d", "l")
		require.Equal(e, []string{"f"}, e.root.list("l"))
		e.root.put("l/g", text(2, 10))
		e.root.holds("d/g", text(2, 10))
	}),
	one("SymlinkWritesToTarget", func(e *Env) {
		e.root.put("f", text(1, 10))
		e.root.symlink("f", "l")
		e.root.put("l", text(2, 20))
		e.root.holds("f", text(2, 20))
		require.Equal(e, IsSymlink, e.root.lstat("l").Kind)
	}),
	one("SymlinkUpAndDown", func(e *Env) {
		e.root.mkdir("a")
		e.root.mkdir("a/b")
		e.root.mkdir("c")
		e.root.put("c/f", text(1, 10))
		e.root.symlink("../../c/f", "a/b/l")
		require.Equal(e, text(1, 10), e.root.get("a/b/l"))
		e.root.symlink("../c", "a/m")
		require.Equal(e, text(1, 10), e.root.get("a/m/f"))
		require.Equal(e, []string{"a", "c"}, e.root.list("a/m/.."), "the parent of where the link led")
	}),
	one("SymlinkOverExisting", func(e *Env) {
		e.root.put("f", text(1, 10))
		e.fails(e.root.fs.Symlink("x", e.at("f")), syscall.EEXIST)
		e.root.mkdir("d")
		e.fails(e.root.fs.Symlink("x", e.at("d")), syscall.EEXIST)
		e.root.symlink("x", "l")
		e.fails(e.root.fs.Symlink("y", e.at("l")), syscall.EEXIST)
		e.root.holds("f", text(1, 10))
	}),
	one("SymlinkDangling", func(e *Env) {
		e.root.symlink("nowhere", "l")
		_, err := e.root.fs.Stat(e.at("l"))
		e.fails(err, syscall.ENOENT)
		e.fails(e.root.try("l", os.O_RDONLY, 0), syscall.ENOENT)
		require.Equal(e, IsSymlink, e.root.lstat("l").Kind)
		e.root.put("nowhere", text(1, 10))
		require.Equal(e, text(1, 10), e.root.get("l"))
	}),
	one("SymlinkCreatesTarget", func(e *Env) {
		e.root.symlink("f", "l")
		e.root.put("l", text(1, 10))
		e.root.holds("f", text(1, 10))
		require.Equal(e, IsSymlink, e.root.lstat("l").Kind)
	}),
	one("SymlinkAndExclusive", func(e *Env) {
		e.root.symlink("f", "l")
		e.fails(e.root.try("l", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644), syscall.EEXIST)
		e.root.absent("f")
	}),
	one("SymlinkToItself", func(e *Env) {
		e.root.symlink("l", "l")
		_, err := e.root.fs.Stat(e.at("l"))
		e.fails(err, syscall.ELOOP)
		e.fails(e.root.try("l", os.O_RDWR|os.O_CREATE, 0o644), syscall.ELOOP)
		require.Equal(e, IsSymlink, e.root.lstat("l").Kind)
	}),
	one("SymlinkLoopOfThree", func(e *Env) {
		e.root.symlink("b", "a")
		e.root.symlink("c", "b")
		e.root.symlink("a", "c")
		_, err := e.root.fs.ReadDir(e.at("a"))
		e.fails(err, syscall.ELOOP)
	}),
	one("SymlinkChain", func(e *Env) {
		e.root.put("l0", text(1, 10))
		for i := range 30 {
			e.root.symlink(name("l%d", i), name("l%d", i+1))
		}
		require.Equal(e, text(1, 10), e.root.get("l30"))
	}),
	one("SymlinkChainTooLong", func(e *Env) {
		e.root.put("l0", nil)
		for i := range 50 {
			e.root.symlink(name("l%d", i), name("l%d", i+1))
		}
		_, err := e.root.fs.Stat(e.at("l50"))
		e.fails(err, syscall.ELOOP)
	}),
	one("SymlinkGrowsWithoutEnd", func(e *Env) {
		e.root.symlink("l/x", "l")
		_, err := e.root.fs.Stat(e.at("l"))
		e.fails(err, syscall.ELOOP, syscall.ENAMETOOLONG)
	}),
	one("SymlinkInTheMiddle", func(e *Env) {
		e.root.mkdir("a")
		e.root.mkdir("a/b")
		e.root.symlink("a", "l")
		e.root.symlink("b", "a/m")
		e.root.put("l/m/f", text(1, 10))
		e.root.holds("a/b/f", text(1, 10))
		e.root.holds("l/m/../b/f", text(1, 10))
	}),
	one("SymlinkWithSlash", func(e *Env) {
		e.root.mkdir("d")
		e.root.put("d/f", text(1, 10))
		e.root.symlink("d/", "l")
		require.Equal(e, text(1, 10), e.root.get("l/f"))
		e.root.symlink("./d/./f", "m")
		require.Equal(e, text(1, 10), e.root.get("m"))
	}),
	one("SymlinkToFileInPath", func(e *Env) {
		e.root.put("f", nil)
		e.root.symlink("f", "l")
		e.fails(e.root.try("l/x", os.O_RDONLY, 0), syscall.ENOTDIR)
		_, err := e.root.fs.ReadDir(e.at("l"))
		e.fails(err, syscall.ENOTDIR)
	}),
	one("SymlinkThroughRenamed", func(e *Env) {
		e.root.mkdir("d")
		e.root.put("d/f", text(1, 10))
		e.root.symlink("d", "l")
		e.root.rename("d", "e")
		e.fails(e.root.try("l/f", os.O_RDONLY, 0), syscall.ENOENT)
		e.root.rename("e", "d")
		require.Equal(e, text(1, 10), e.root.get("l/f"))
	}),
	one("ReadlinkOfOthers", func(e *Env) {
		e.root.put("f", nil)
		_, err := e.root.fs.Readlink(e.at("f"))
		e.fails(err, syscall.EINVAL)
		e.root.mkdir("d")
		_, err = e.root.fs.Readlink(e.at("d"))
		e.fails(err, syscall.EINVAL)
	}),
	one("SymlinkMadeAnew", func(e *Env) {
		for i := range 10 {
			e.root.symlink(name("target%d", i), "l")
			target, err := e.root.fs.Readlink(e.at("l"))
			require.NoError(e, err)
			require.Equal(e, name("target%d", i), target)
			e.root.remove("l")
		}
	}),
	one("ChmodThroughSymlink", func(e *Env) {
		e.root.put("f", nil)
		e.root.symlink("f", "l")
		e.root.chmod("l", 0o600)
		require.EqualValues(e, 0o600, e.root.stat("f").Mode)
		require.Equal(e, IsSymlink, e.root.lstat("l").Kind)
	}),
}, targetCases()...), Symlinks)

// targetCases make links with odd targets, which are not followed.
func targetCases() Cases {
	var out Cases
	for _, c := range []struct{ name, target string }{
		{"Plain", "target"}, {"Absolute", "/etc/passwd"}, {"Dots", "../../.."}, {"Spaces", " a b "}, {"UTF8", "日本"},
		{"Broken", "\xff\xfe"}, {"Newline", "a\nb"}, {"Slashes", "//a//b//"}, {"Of255", strings.Repeat("t", 255)},
		{"Of256", strings.Repeat("t/", 128)}, {"Of1000", strings.Repeat("t/", 500)}, {"Of4000", strings.Repeat("abc/", 1000)},
	} {
		var needs []Ability
		if len(c.target) > targetMax {
			needs = append(needs, LongTargets)
		}
		out = append(out, Case{"SymlinkTarget" + c.name, needs, func(e *Env) {
			e.root.symlink(c.target, "l")
			got, err := e.root.fs.Readlink(e.at("l"))
			require.NoError(e, err)
			require.Equal(e, c.target, got)
			require.EqualValues(e, len(c.target), e.root.lstat("l").Size)
		}})
	}
	return append(out, one("SymlinkTargetTooLong", func(e *Env) {
		e.fails(e.root.fs.Symlink(strings.Repeat("t/", 3000), e.at("l")), syscall.ENAMETOOLONG)
		e.root.absent("l")
	}))
}

// targetMax is the longest target without LongTargets, in bytes.
const targetMax = 255
