package pvfs

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// These tests attack cp. A user that may write to a directory of the copied tree replaces objects by symbolic links or other
// objects, after cp has looked at them or made them in an earlier run.

// strangerID is an unprivileged user and group.
const strangerID = 54321

// asStranger calls do as an unprivileged user, if the test may become one.
func asStranger(t *testing.T, do func() error) {
	t.Helper()
	if os.Geteuid() != 0 {
		require.NoError(t, do())
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.Setfsgid(strangerID)
		if err == nil {
			err = unix.Setfsuid(strangerID) // this also drops the right to override modes
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	require.NoError(t, <-done)
}

// attacked has a directory that the attacker may write to, and the files that it attacks.
type attacked struct {
	t      *testing.T
	dir    string // the attacker may write to it
	secret string // the attacker may neither write nor read it
}

// secretText is the contents of the victim's file.
const secretText = "the victim's bytes"

// longAgo is the mtime of the victim's file and directory.
var longAgo = time.Unix(1_500_000_000, 0)

func newAttacked(t *testing.T) *attacked {
	root := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(root), 0o755))
	a := &attacked{t: t, dir: filepath.Join(root, "shared"), secret: filepath.Join(root, "secret")}
	a.mkdir(a.dir, 0o777)
	a.mkdir(a.secret, 0o700)
	require.NoError(t, os.WriteFile(filepath.Join(a.secret, "f"), []byte(secretText), 0o600))
	require.NoError(t, os.Chtimes(filepath.Join(a.secret, "f"), longAgo, longAgo))
	require.NoError(t, os.Chtimes(a.secret, longAgo, longAgo))
	return a
}

// mkdir makes a directory with a mode that no umask changes.
func (a *attacked) mkdir(name string, mode fs.FileMode) {
	require.NoError(a.t, os.Mkdir(name, 0o700))
	require.NoError(a.t, os.Chmod(name, mode))
}

// in is a name in the directory that the attacker may write to.
func (a *attacked) in(name string) string { return filepath.Join(a.dir, name) }

// replace moves a name away, as the attacker, and puts a symbolic link there.
func (a *attacked) replace(name, target string) {
	a.t.Helper()
	asStranger(a.t, func() error {
		if err := os.Rename(a.in(name), a.in(name)+".moved"); err != nil {
			return err
		}
		return os.Symlink(target, a.in(name))
	})
}

// unharmed requires that nothing of the victim has changed.
func (a *attacked) unharmed() {
	a.t.Helper()
	entries, err := os.ReadDir(a.secret)
	require.NoError(a.t, err)
	require.Len(a.t, entries, 1)
	got, err := os.ReadFile(filepath.Join(a.secret, "f"))
	require.NoError(a.t, err)
	assert.Equal(a.t, secretText, string(got))
	for name, mode := range map[string]fs.FileMode{a.secret: fs.ModeDir | 0o700, filepath.Join(a.secret, "f"): 0o600} {
		info, err := os.Stat(name)
		require.NoError(a.t, err)
		assert.Equal(a.t, mode, info.Mode(), name)
		assert.Equal(a.t, longAgo.Unix(), info.ModTime().Unix(), name)
	}
}

// tree makes a tree on the file system: /d/sub/f and /d/g.
func (s *shell) tree() {
	s.t.Helper()
	s.in = []byte("new bytes")
	s.ok("mkdir -p /d/sub")
	s.ok("put /d/sub/f")
	s.ok("put /d/g")
}

// linkRefused is cp's error about a symbolic link on its path.
const linkRefused = "a symbolic link, which is not followed"

// TestLinkForDirectoryBetweenRuns: a directory of the first run is a link in the second run.
func TestLinkForDirectoryBetweenRuns(t *testing.T) {
	s, a := newShell(t), newAttacked(t)
	s.tree()
	s.ok("cp -r --quiet :/d " + a.dir)
	require.NoError(t, os.Chmod(a.in("d"), 0o777))
	a.replace("d/sub", a.secret)
	errs := s.no(ExitFailed, "cp -r --quiet :/d "+a.dir)
	assert.Contains(t, errs, a.in("d/sub")+": "+linkRefused)
	assert.Contains(t, errs, "remove it")
	a.unharmed()

	require.NoError(t, os.Remove(a.in("d/sub")))
	s.ok("cp -r --quiet :/d " + a.dir)
	assert.FileExists(t, a.in("d/sub/f"))
	a.replace("d", a.secret)
	assert.Contains(t, s.no(ExitFailed, "cp -r --quiet :/d "+a.dir), a.in("d")+": "+linkRefused)
	a.unharmed()
}

// TestLinkFromTheFileSystem: the first run copied a link, whose name is a directory in the second run.
func TestLinkFromTheFileSystem(t *testing.T) {
	s, a := newShell(t), newAttacked(t)
	s.ok("mkdir /d")
	s.ok("ln -s " + a.secret + " /d/sub")
	s.ok("ln -s " + a.secret + "/f /d/g")
	s.ok("cp -r --quiet :/d " + a.dir)
	s.ok("rm /d/g")
	s.in = []byte("new bytes")
	s.ok("put /d/g")
	s.ok("cp -r --quiet :/d " + a.dir)
	a.unharmed()
	got, err := os.ReadFile(a.in("d/g"))
	require.NoError(t, err)
	assert.Equal(t, "new bytes", string(got))

	s.ok("rm /d/sub")
	s.tree()
	assert.Contains(t, s.no(ExitFailed, "cp -r --quiet :/d "+a.dir), linkRefused)
	a.unharmed()
}

// TestLinkForFileBetweenRuns: a file replaces a link, in a tree and alone. The victim's file stays unchanged, and no file is made
// at the target of a dangling link.
func TestLinkForFileBetweenRuns(t *testing.T) {
	s, a := newShell(t), newAttacked(t)
	s.tree()
	for _, line := range []string{"cp -r --quiet :/d ", "cp --quiet :/d/g "} {
		s.ok(line + a.dir)
		name := "g"
		if _, err := os.Lstat(a.in("d")); err == nil {
			name = "d/g"
			require.NoError(t, os.Chmod(a.in("d"), 0o777))
		}
		for _, target := range []string{a.secret + "/f", a.secret + "/none"} {
			a.replace(name, target)
			s.ok(line + a.dir)
			a.unharmed()
			info, err := os.Lstat(a.in(name))
			require.NoError(t, err)
			assert.Equal(t, fs.FileMode(0o644), info.Mode())
			got, err := os.ReadFile(a.in(name))
			require.NoError(t, err)
			assert.Equal(t, "new bytes", string(got))
		}
		require.NoError(t, os.RemoveAll(a.in("d")))
	}
}

// TestLinksOfTheCommandLine: the target on the command line may be a link to a directory, but no file is written through it.
func TestLinksOfTheCommandLine(t *testing.T) {
	s, a := newShell(t), newAttacked(t)
	s.tree()
	a.mkdir(a.in("real"), 0o755)
	require.NoError(t, os.Symlink("real", a.in("link")))
	s.ok("cp -r --quiet :/d " + a.in("link"))
	s.ok("cp --quiet :/d/g " + a.in("link/"))
	assert.FileExists(t, a.in("real/d/sub/f"))
	assert.FileExists(t, a.in("real/g"))
	require.NoError(t, os.Symlink("real/d", a.in("source")))
	s.ok("cp -r --quiet " + a.in("source") + " :/in")
	assert.Equal(t, "g\nsub\n", s.ok("ls /in"))
	require.NoError(t, os.Symlink("real/g", a.in("file")))
	s.ok("cp --quiet " + a.in("file") + " :/in")
	assert.Equal(t, "new bytes", s.ok("cat /in/file"))

	for _, target := range []string{a.secret + "/f", a.secret + "/none"} {
		require.NoError(t, os.Symlink(target, a.in("out")))
		errs := s.no(ExitFailed, "cp --quiet :/d/g "+a.in("out"))
		assert.Contains(t, errs, a.in("out")+": "+linkRefused+" to write to a file; use the name of its target")
		a.unharmed()
		require.NoError(t, os.Remove(a.in("out")))
	}
	s.ok("cp --quiet :/d/g /dev/null")
}

// TestSpecialFilesAreNotWritten: an object that is neither a file nor a link is not opened for writing.
func TestSpecialFilesAreNotWritten(t *testing.T) {
	s, a := newShell(t), newAttacked(t)
	s.tree()
	a.mkdir(a.in("d"), 0o777)
	for what, mode := range map[string]uint32{"FIFO": unix.S_IFIFO, "socket": unix.S_IFSOCK, "device": unix.S_IFCHR} {
		err := unix.Mknod(a.in("d/g"), mode|0o666, int(unix.Mkdev(1, 3))) // the null device
		if mode == unix.S_IFCHR && err != nil {
			continue // only root can make devices
		}
		require.NoError(t, err)
		for _, line := range []string{"cp -r --quiet :/d " + a.dir, "cp --quiet :/d/g " + a.in("d")} {
			assert.Contains(t, s.no(ExitFailed, line), a.in("d/g")+": not a file", "%s: %s", what, line)
		}
		assert.NoFileExists(t, a.in("d/sub/f"), "it is found before anything is copied")
		if mode != unix.S_IFCHR {
			assert.Contains(t, s.no(ExitFailed, "cp --quiet :/d/g "+a.in("d/g")), "not a file", what)
		}
		require.NoError(t, os.Remove(a.in("d/g")))
	}
}

// prepared is a planned copy, for attacks before it goes on.
func (s *shell) prepared(sources []string, target string, opt cpOptions) *copier {
	s.t.Helper()
	app := &App{fsFlag: s.source}
	app.mount.NameTime = -1 // others' changes are seen at once
	opt.jobs, opt.recursive = 1, true
	s.t.Cleanup(func() { assert.NoError(s.t, app.mounts.close()) })
	c, err := app.prepare(context.Background(), sources, target, opt)
	s.t.Cleanup(c.close)
	require.NoError(s.t, err)
	return c
}

// A hookedTree calls a function while one of its files is read.
type hookedTree struct {
	tree
	reading func()
}

type hookedFile struct {
	file
	reading func()
}

func (h hookedTree) open(p place) (file, error) {
	f, err := h.tree.open(p)
	return hookedFile{f, h.reading}, err
}

func (f hookedFile) ReadAt(b []byte, off int64) (int, error) {
	f.reading()
	return f.file.ReadAt(b, off)
}

// TestLinkForDirectoryDuringRun: directories become links after cp made them, before it copies files into them.
func TestLinkForDirectoryDuringRun(t *testing.T) {
	for _, replaced := range []string{"d/sub", "d"} {
		s, a := newShell(t), newAttacked(t)
		s.tree()
		c := s.prepared([]string{":/d"}, a.dir, cpOptions{preserve: true})
		require.NoError(t, c.makeTree(context.Background()))
		require.NoError(t, os.Chmod(a.in("d"), 0o777))
		a.mkdir(a.secret+"/sub", 0o700)
		a.replace(replaced, a.secret)
		err := c.run(context.Background())
		require.NoError(t, os.Remove(a.secret+"/sub")) // it is empty
		require.NoError(t, os.Chtimes(a.secret, longAgo, longAgo))
		a.unharmed()
		assert.ErrorContains(t, err, linkRefused)
	}
}

// TestAttributesOfWhatWasCopied: the directory of a file becomes a link while the file is read. Modes and times are set on the
// copied objects.
func TestAttributesOfWhatWasCopied(t *testing.T) {
	for _, byLink := range []bool{true, false} {
		s, a := newShell(t), newAttacked(t)
		s.tree()
		s.ok("chmod 0444 /d/sub/f")
		s.ok("chmod 0555 /d/sub")
		s.ok("rm /d/g")
		c := s.prepared([]string{":/d"}, a.dir, cpOptions{preserve: true})
		require.NoError(t, c.makeTree(context.Background()))
		require.NoError(t, os.Chmod(a.in("d"), 0o777))
		require.Len(t, c.jobs, 1)
		c.jobs[0].from = hookedTree{c.jobs[0].from, func() {
			if byLink {
				a.replace("d/sub", a.secret)
				return
			}
			// A directory of the victim replaces the one that cp made.
			require.NoError(t, os.Rename(a.in("d/sub"), a.in("d/sub.moved")))
			require.NoError(t, os.Rename(a.secret, a.in("d/sub")))
		}}
		err := c.run(context.Background())
		if !byLink {
			require.NoError(t, os.Rename(a.in("d/sub"), a.secret))
		}
		a.unharmed()
		assert.ErrorContains(t, err, a.in("d/sub"))
		info, err := os.Stat(a.in("d/sub.moved/f"))
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o444), info.Mode())
	}
}

// TestLinksInTheSource: a directory or file of the local source is replaced between cp's check and its open. Nothing is copied
// that the attacker may not read.
func TestLinksInTheSource(t *testing.T) {
	const theirs = "the stranger's bytes"
	for name, test := range map[string]struct {
		attack func(a *attacked)
		want   string // contents of d/sub/f; "" if it is not copied
		fails  string
	}{
		"directory": {func(a *attacked) { a.replace("d/sub", a.secret) }, "", "d/sub: " + linkRefused},
		// The source on the command line is open, and so are its directories.
		"above": {func(a *attacked) { a.replace("d", a.dir+"/e") }, theirs, ""},
		"file":  {func(a *attacked) { a.replace("d/sub/f", a.secret+"/f") }, "", "d/sub/f: " + linkRefused},
		"FIFO": {func(a *attacked) {
			require.NoError(a.t, unix.Mkfifo(a.in("fifo"), 0o666)) // an open for reading waits for a writer
			asStranger(a.t, func() error { return os.Rename(a.in("fifo"), a.in("d/sub/f")) })
		}, "", "d/sub/f: not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			s, a := newShell(t), newAttacked(t)
			for _, dir := range []string{"d", "d/sub", "d/tub", "e"} {
				a.mkdir(a.in(dir), 0o777)
			}
			require.NoError(t, os.WriteFile(a.in("d/sub/f"), []byte(theirs), 0o644))
			require.NoError(t, os.WriteFile(a.in("d/tub/f"), []byte(theirs), 0o644))
			require.NoError(t, os.Symlink(a.secret, a.in("e/sub")))
			c := s.prepared([]string{a.in("d")}, ":/in", cpOptions{})
			require.NoError(t, c.makeTree(context.Background()))
			test.attack(a)
			err := c.run(context.Background())
			if test.fails == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, a.in("")+"/"+test.fails)
			}
			out, _, _ := s.run("cat", "/in/sub/f")
			assert.Equal(t, test.want, out)
			a.unharmed()
		})
	}
}

// shared makes directories on the file system: /shared, which the attacker may change, and /secret with a file.
func (s *shell) shared() {
	s.t.Helper()
	s.ok("mkdir /shared")
	s.ok("chmod 0777 /shared")
	s.ok("mkdir -m 0700 /secret")
	s.in = []byte(secretText)
	s.ok("put /secret/f")
	s.ok("chmod 0600 /secret/f")
}

// replace is attacked.replace for the file system.
func (s *shell) replace(name, target string) {
	s.t.Helper()
	s.ok(fmt.Sprintf("--user %d mv %s %s.moved", strangerID, name, name))
	s.ok(fmt.Sprintf("--user %d ln -s %s %s", strangerID, target, name))
}

// TestLinksOnTheFileSystemBetweenRuns: the target is on the file system, and the attacker has changed it since the first run.
func TestLinksOnTheFileSystemBetweenRuns(t *testing.T) {
	s, a := newShell(t), newAttacked(t)
	s.tree()
	s.shared()
	s.ok("cp -r --quiet :/d " + a.dir)
	for _, source := range []string{":/d", a.in("d")} {
		s.ok("cp -r --quiet " + source + " :/shared")
		s.ok("chmod 0777 /shared/d")
		before := s.ok("ls -laR /secret")

		s.replace("/shared/d/g", "/secret/f")
		s.ok("cp -r --quiet -p " + source + " :/shared")
		assert.Equal(t, "new bytes", s.ok("cat /shared/d/g"))
		assert.Contains(t, s.ok("stat /shared/d/g"), "file of 9 bytes", "no link")

		s.replace("/shared/d/sub", "/secret")
		errs := s.no(ExitFailed, "cp -r --quiet "+source+" :/shared")
		assert.Contains(t, errs, ":/shared/d/sub: "+linkRefused)
		s.ok("ln -s /secret/f /shared/link")
		assert.Contains(t, s.no(ExitFailed, "cp --quiet "+source+"/g :/shared/link"), "/shared/link: "+linkRefused)
		require.Equal(t, before, s.ok("ls -laR /secret"))
		require.Equal(t, secretText, s.ok("cat /secret/f"))
		s.ok("rm -r /shared/d /shared/link")
	}
}

// TestLinksOnTheFileSystemDuringRun: a directory on the file system becomes a link after cp looked at it or made it, in the
// target and in the source.
func TestLinksOnTheFileSystemDuringRun(t *testing.T) {
	s, a := newShell(t), newAttacked(t)
	s.tree()
	s.shared()
	before := s.ok("ls -laR /secret")
	into := s.prepared([]string{":/d"}, ":/shared/d", cpOptions{preserve: true})
	require.NoError(t, into.makeTree(context.Background()))
	s.ok("chmod 0777 /shared/d")
	s.replace("/shared/d/sub", "/secret")
	assert.ErrorContains(t, into.run(context.Background()), "/shared/d/sub/f: "+linkRefused)
	require.Equal(t, before, s.ok("ls -laR /secret"))
	require.Equal(t, secretText, s.ok("cat /secret/f"))

	s.ok("rm -r /shared/d")
	s.ok("cp -r --quiet :/d :/shared")
	s.ok("chmod 0777 /shared/d")
	out := s.prepared([]string{":/shared/d"}, a.in("out"), cpOptions{})
	require.NoError(t, out.makeTree(context.Background()))
	s.replace("/shared/d/sub", "/secret")
	assert.ErrorContains(t, out.run(context.Background()), "/shared/d/sub/f: "+linkRefused)
	assert.NoFileExists(t, a.in("out/sub/f"))
}

// TestAttributesFollowNoLink: chmod -R and chown -R skip links, and change nothing through a link that another user puts in place
// of a directory meanwhile.
func TestAttributesFollowNoLink(t *testing.T) {
	s := newShell(t)
	for _, line := range []string{
		"mkdir -p /victim /tree/b", "touch /victim/y /tree/b/x /tree/b/y", "chmod 0644 /victim/y", "ln -s /victim /tree/link", "ln -s tree /start",
	} {
		s.ok(line)
	}
	s.ok("chmod -R 0700 /start")
	assert.Contains(t, s.ok("stat /victim/y"), "0644")
	assert.Contains(t, s.ok("stat /tree/b/y"), "0700")

	app := &App{Out: io.Discard, Err: io.Discard, fsFlag: s.source}
	app.mount.NameTime, app.mount.AttrTime = -1, -1 // otherwise its cache keeps the directory as it was
	defer func() { require.NoError(t, app.mounts.close()) }()
	var names []string
	err := app.attrs(t.Context(), []string{"/tree"}, true, func(ctx context.Context, view *client.FS, name string, _ fs.FileInfo) error {
		if len(names) == 0 {
			s.ok("mv /tree/b /hidden")
			s.ok("ln -s /victim /tree/b")
		}
		names = append(names, name)
		return view.Chmod(ctx, name, 0o777)
	})
	require.ErrorIs(t, err, errLink)
	require.NotEmpty(t, names)
	assert.Contains(t, s.ok("stat /victim/y"), "0644")

	assert.Contains(t, s.no(ExitUsage, "rm -r /lost+found"), "pvfsd check --repair")
}
