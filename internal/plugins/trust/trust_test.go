//go:build linux

package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// plant makes a folder with a plugin that may be started.
func plant(t *testing.T) (dir, file string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir = filepath.Join(dir, "plugins")
	require.NoError(t, os.Mkdir(dir, 0o700))
	file = filepath.Join(dir, "bmi-method-x")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/true\n"), 0o700))
	require.NoError(t, Check(file))
	return dir, file
}

func TestCheck(t *testing.T) {
	mode := func(path string, m os.FileMode) error { return os.Chmod(path, m) }
	for name, c := range map[string]struct {
		do   func(dir, file string) error
		is   error
		says string // DIR and FILE stand for the paths
	}{
		"right":             {func(string, string) error { return nil }, nil, ""},
		"readable":          {func(dir, file string) error { return mode(file, 0o755) }, nil, ""},
		"missing":           {func(dir, file string) error { return os.Remove(file) }, ErrMissing, "FILE: no such file"},
		"no folder":         {func(dir, file string) error { return os.RemoveAll(dir) }, ErrMissing, "DIR: no such file"},
		"not executable":    {func(dir, file string) error { return mode(file, 0o600) }, ErrNotExecutable, "chmod +x FILE"},
		"writable file":     {func(dir, file string) error { return mode(file, 0o702) }, ErrWritable, "chmod o-w FILE"},
		"writable folder":   {func(dir, file string) error { return mode(dir, 0o707) }, ErrWritable, "chmod o-w DIR"},
		"sticky folder":     {func(dir, file string) error { return mode(dir, 0o777|os.ModeSticky) }, nil, ""},
		"sticky file":       {func(dir, file string) error { return mode(file, 0o777|os.ModeSticky) }, ErrWritable, "chmod o-w FILE"},
		"writable for ours": {func(dir, file string) error { return mode(file, 0o770) }, nil, ""},
		"folder":            {func(dir, file string) error { return replace(file, func() error { return os.Mkdir(file, 0o700) }) }, ErrNotAFile, "a folder: name a file in it"},
		"pipe":              {func(dir, file string) error { return replace(file, func() error { return unix.Mkfifo(file, 0o700) }) }, ErrNotAFile, "FILE"},
		"loop":              {func(dir, file string) error { return replace(file, func() error { return os.Symlink(file, file) }) }, unix.ELOOP, "FILE"},
		"nowhere":           {func(dir, file string) error { return replace(file, func() error { return os.Symlink("gone", file) }) }, ErrMissing, "DIR/gone"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := plant(t)
			require.NoError(t, c.do(dir, file))
			err := Check(file)
			if c.is == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.is)
			assert.ErrorContains(t, err, strings.NewReplacer("DIR", dir, "FILE", file).Replace(c.says))
		})
	}
}

func replace(file string, with func() error) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	return with()
}

// TestBelowAFile: a path through a file that is not a folder.
func TestBelowAFile(t *testing.T) {
	_, file := plant(t)
	assert.ErrorIs(t, Check(file+"/x"), ErrMissing)
}

// TestFarFolders: a user who can rename a folder in the path can replace the file.
func TestFarFolders(t *testing.T) {
	dir, _ := plant(t)
	deep := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o700))
	file := filepath.Join(deep, "x")
	require.NoError(t, os.WriteFile(file, nil, 0o700))
	require.NoError(t, Check(file))
	require.NoError(t, os.Chmod(dir, 0o707))
	err := Check(file)
	assert.ErrorIs(t, err, ErrWritable)
	assert.ErrorContains(t, err, "chmod o-w "+dir)
}

// TestLinks: both folders are checked, the one with the link and the one with the file.
func TestLinks(t *testing.T) {
	there, file := plant(t)
	here, _ := plant(t)
	links := map[string]string{
		"absolute": file,
		"relative": filepath.Join("..", "link", "bmi-method-x"),
	}
	require.NoError(t, os.Symlink(there, filepath.Join(filepath.Dir(here), "link")))
	for name, target := range links {
		link := filepath.Join(here, name)
		require.NoError(t, os.Symlink(target, link))
		require.NoError(t, Check(link))
		for _, dir := range []string{here, there} {
			require.NoError(t, os.Chmod(dir, 0o707))
			assert.ErrorIs(t, Check(link), ErrWritable, "%s %s", name, dir)
			require.NoError(t, os.Chmod(dir, 0o700))
		}
		require.NoError(t, os.Chmod(file, 0o702))
		assert.ErrorIs(t, Check(link), ErrWritable)
		require.NoError(t, os.Chmod(file, 0o700))
	}
}

// TestLinkToNowhere: the error names the link, which the user knows, and its target.
func TestLinkToNowhere(t *testing.T) {
	dir, file := plant(t)
	link := filepath.Join(dir, "bmi-method-link")
	require.NoError(t, os.Symlink("/nonexistent/x", link))
	err := Check(link)
	require.ErrorIs(t, err, ErrMissing)
	require.EqualError(t, err, "following the links of "+link+": /nonexistent: no such file")

	there, _ := plant(t)
	require.NoError(t, os.Chmod(file, 0o702))
	other := filepath.Join(there, "bmi-method-link")
	require.NoError(t, os.Symlink(file, other))
	require.ErrorContains(t, Check(other), "following the links of "+other+": "+file+" is writable for others")
}

// TestRelativePaths: they are relative to the working directory.
func TestRelativePaths(t *testing.T) {
	dir, file := plant(t)
	t.Chdir(dir)
	assert.NoError(t, Check(filepath.Base(file)))
	assert.NoError(t, Check("./../plugins/bmi-method-x"))
	require.NoError(t, os.Chmod(file, 0o702))
	assert.ErrorIs(t, Check(filepath.Base(file)), ErrWritable)
}

// TestOwner: a file, folder or link of another user is refused.
func TestOwner(t *testing.T) {
	need.AsRoot(t)
	const stranger = 12345
	dir, file := plant(t)
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(file, link))
	for _, path := range []string{file, dir, link} {
		require.NoError(t, os.Lchown(path, stranger, -1))
		err := Check(link)
		require.ErrorIs(t, err, ErrOwner, path)
		assert.ErrorContains(t, err, path+" is of another user (12345)")
		require.NoError(t, os.Lchown(path, 0, -1))
		require.NoError(t, Check(link))
	}
}

// TestTrusts checks the rule, for a user other than root.
func TestTrusts(t *testing.T) {
	const file, folder, link = unix.S_IFREG, unix.S_IFDIR, unix.S_IFLNK
	us := user{uid: 1000, gid: 1000}
	for _, c := range []struct {
		kind, mode, uid, gid uint32
		want                 error
	}{
		{file, 0o755, 1000, 1000, nil},
		{file, 0o755, 0, 0, nil},
		{file, 0o755, 1001, 1000, ErrOwner},
		{folder, 0o755, 1001, 1000, ErrOwner},
		{folder, 0o1777, 1001, 0, ErrOwner},
		{link, 0o777, 1001, 1000, ErrOwner},
		{link, 0o777, 1000, 1000, nil},
		{file, 0o775, 1000, 1000, nil},
		{file, 0o775, 1000, 0, nil},
		{file, 0o775, 1000, 50, ErrWritable},
		{file, 0o755, 1000, 50, nil},
		{folder, 0o775, 1000, 50, ErrWritable},
		{folder, 0o2775, 0, 50, nil},
		{folder, 0o1775, 1000, 50, nil},
		{folder, 0o777, 0, 0, ErrWritable},
		{folder, 0o1777, 0, 0, nil},
		{file, 0o1777, 0, 0, ErrWritable},
	} {
		err := us.trusts("x", &unix.Stat_t{Mode: c.kind | c.mode, Uid: c.uid, Gid: c.gid})
		assert.ErrorIs(t, err, c.want, "%+v", c)
	}
}

func TestChecksum(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(file, []byte("abc"), 0o600))
	const of = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-4
	want, err := ParseChecksum(" " + strings.ToUpper(of) + "\n")
	require.NoError(t, err)
	got, err := Checksum(file)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	_, err = Checksum(file + "x")
	assert.ErrorIs(t, err, os.ErrNotExist)
	for _, wrong := range []string{"", of[1:], of + "00", "g" + of[1:], of + "  x", strings.Repeat("x", 1000)} {
		_, err := ParseChecksum(wrong)
		require.ErrorIs(t, err, ErrChecksum, wrong)
		assert.ErrorContains(t, err, "sha256sum")
		assert.Less(t, len(err.Error()), 200)
	}
}
