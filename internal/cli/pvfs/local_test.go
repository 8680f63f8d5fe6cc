package pvfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// entered returns the local tree at a directory, and the place of that.
func entered(t *testing.T, dir string) (*localTree, place) {
	t.Helper()
	tree, p := &localTree{}, place{given: dir, path: dir, local: true}
	require.NoError(t, tree.enter(p, true))
	t.Cleanup(tree.close)
	return tree, p
}

// TestLocalTreeFollowsNoLinks: every method refuses a link on the path, with any target. Methods for the name itself find the
// link.
func TestLocalTreeFollowsNoLinks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "real/deep"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "real/f"), []byte("bytes"), 0o644))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("real/f", filepath.Join(dir, "file")))
	tree, top := entered(t, dir)
	behind := top.below("link").below("deep").below("f")
	for what, do := range map[string]func(p place) error{
		"stat":     func(p place) error { _, err := tree.stat(p, false); return err },
		"list":     func(p place) error { _, err := tree.list(p); return err },
		"readlink": func(p place) error { _, err := tree.readlink(p); return err },
		"open":     func(p place) error { _, err := tree.open(p); return err },
		"create":   func(p place) error { _, err := tree.create(p, 0o644); return err },
		"over":     func(p place) error { _, err := tree.overwrite(p); return err },
		"mkdir":    func(p place) error { return tree.mkdir(p, 0o755) },
		"symlink":  func(p place) error { return tree.symlink("x", p) },
		"remove":   tree.remove,
	} {
		err := do(behind)
		assert.ErrorIs(t, err, errLink, what)
		assert.ErrorContains(t, err, dir+"/link: ", what)
	}
	for _, p := range []place{top.below("link"), top.below("file")} {
		for what, do := range map[string]func() error{
			"list": func() error { _, err := tree.list(p); return err },
			"open": func() error { _, err := tree.open(p); return err },
			"over": func() error { _, err := tree.overwrite(p); return err },
			"raced": func() error { // the link was made after overwrite had looked
				_, err := openLocal(tree.top.fd, p.rel, p.given, toWrite, fs.FileMode.IsRegular)
				return localError("open", p.given, tree.top.fd, p.rel, err)
			},
		} {
			assert.ErrorIs(t, do(), errLink, "%s %s", what, p.rel)
		}
		_, err := tree.create(p, 0o644)
		assert.ErrorIs(t, err, fs.ErrExist)
		info, err := tree.stat(p, false)
		require.NoError(t, err)
		assert.Equal(t, fs.ModeSymlink, info.Mode().Type())
	}
	for _, given := range []string{dir + "/link", dir + "/link/"} {
		other, p := &localTree{}, place{given: given, path: given, local: true}
		assert.ErrorIs(t, other.enter(p, false), errLink, "it was made as a directory")
		assert.NoError(t, other.enter(p, true))
		other.close()
	}
	got, err := os.ReadFile(filepath.Join(dir, "real/f"))
	require.NoError(t, err)
	assert.Equal(t, "bytes", string(got))
}

// TestLocalTreeWaitsForNobody: cp neither waits for a FIFO that was made after it looked, nor uses it.
func TestLocalTreeWaitsForNobody(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o666))
	tree, top := entered(t, dir)
	for what, flags := range map[string]int{"read": toRead, "write": toWrite} {
		_, err := openLocal(tree.top.fd, "fifo", "fifo", flags, fs.FileMode.IsRegular)
		assert.ErrorIs(t, err, errNoBytes, what)
	}
	_, err := tree.open(top.below("fifo"))
	assert.ErrorIs(t, err, errNoBytes)
}

// TestLocalTreeClosesDirectories: only the top and the directory of the last name stay open.
func TestLocalTreeClosesDirectories(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o755))
	tree, top := entered(t, dir)
	var last []*localDir
	for _, p := range []place{top, top.below("a"), top.below("a").below("b"), top.below("a").below("b").below("c"), top.below("a").below("b"), top.below("none")} {
		_, _ = tree.stat(p, false) // none does not exist
		_, _ = tree.open(p.below("none").below("none"))
		last = append(last, tree.last)
	}
	first := tree.top
	tree.close()
	for _, d := range append(last, first) {
		if d != nil {
			assert.Zero(t, d.users, d.rel)
		}
	}
}
