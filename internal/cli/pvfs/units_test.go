package pvfs

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

func TestPlaces(t *testing.T) {
	for given, want := range map[string]place{
		"/a/b":                     {path: "/a/b"},
		"a/b":                      {path: "/a/b"},
		":a":                       {path: "/a"},
		".":                        {path: "/"},
		"tcp://h:3334/fs":          {fs: "tcp://h:3334/fs", path: "/"},
		"tcp://h:3334/fs/":         {fs: "tcp://h:3334/fs", path: "/"},
		"tcp://h:3334/fs/a//b":     {fs: "tcp://h:3334/fs", path: "/a//b"},
		"via+shm://name/pvfs2-fs/": {fs: "via+shm://name/pvfs2-fs", path: "/"},
	} {
		got, err := remote(given)
		require.NoError(t, err, given)
		want.given = given
		assert.Equal(t, want, got, given)
	}
	p, err := either("a/../b")
	require.NoError(t, err)
	assert.True(t, p.local)
	assert.Equal(t, "b", p.base())
	for _, bad := range []string{"", "tcp://", "tcp:///fs", "tcp://h:1/"} {
		_, err := either(bad)
		assert.ErrorIs(t, err, program.ErrUsage, bad)
	}
}

func TestSymbolicModes(t *testing.T) {
	for _, c := range []struct {
		old  uint32
		text string
		dir  bool
		want uint32
	}{
		{0o644, "u+x", false, 0o744}, {0o644, "+x", false, 0o755}, {0o777, "go-w", false, 0o755},
		{0o644, "a=rX", false, 0o444}, {0o744, "a=rX", false, 0o555}, {0o600, "a+X", true, 0o711},
		{0o755, "u+s,g+s", false, 0o6755}, {0o6755, "ug-s", false, 0o755}, {0o644, "u=rwx,g=rx,o=", false, 0o750},
		{0o644, "u+x-w", false, 0o544},
	} {
		got, err := symbolic(c.old, c.text, c.dir)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, got, "%o %s", c.old, c.text)
	}
	for _, bad := range []string{"", "u", "x", "u+q", "z+x", "u+x,"} {
		_, err := symbolic(0o644, bad, false)
		assert.ErrorIs(t, err, errMode, bad)
	}
}

func TestModeLetters(t *testing.T) {
	for _, c := range []struct {
		typ  fs.FileMode
		bits uint32
		want string
	}{
		{0, 0o644, "-rw-r--r--"}, {0, 0, "----------"}, {fs.ModeDir, 0o755, "drwxr-xr-x"}, {fs.ModeSymlink, 0o777, "lrwxrwxrwx"},
		{0, 0o4755, "-rwsr-xr-x"}, {0, 0o4644, "-rwSr--r--"}, {0, 0o2755, "-rwxr-sr-x"}, {0, 0o2745, "-rwxr-Sr-x"},
		{fs.ModeDir, 0o2770, "drwxrws---"}, {fs.ModeDir, 0o1777, "drwxrwxrwt"}, {fs.ModeDir, 0o1776, "drwxrwxrwT"},
		{0, 0o7777, "-rwsrwsrwt"}, {0, 0o7000, "---S--S--T"}, {0, 0o6666, "-rwSrwSrw-"}, {fs.ModeIrregular, 0o600, "?rw-------"},
	} {
		assert.Equal(t, c.want, letters(c.typ, c.bits), "%v %o", c.typ, c.bits)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"weather", "wether", 1}, {"abc", "acb", 1}, {"abc", "xyz", 3}} {
		assert.Equal(t, c.want, distance(c.a, c.b), "%s %s", c.a, c.b)
		assert.Equal(t, c.want, distance(c.b, c.a), "%s %s", c.b, c.a)
	}
}
