package pvfs

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse/fusetest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
)

const intoItself = "cannot copy a directory, "

// TestCopyIntoItself: cp refuses to copy a directory into itself, before anything is copied.
func TestCopyIntoItself(t *testing.T) {
	s := newShell(t)
	s.ok("mkdir -p /a/b/deep /a/b/c /other /c/a")
	s.ok("touch /a/f /a/b/g")
	s.ok("ln -s a /link")
	s.ok("ln -s /a/b /into")
	s.ok("ln -s /a/b/deep /c/a/b")
	before := s.ok("ls -laR /")
	for _, line := range []string{
		"cp -r :/a :/a/b",
		"cp -r :/a :/a/new",
		"cp -r :/a :/a/b/deep/new",
		"cp -r :/a :/a",
		"cp -r :/a/ :/a/",
		"cp -r :/a :/a/b/..",
		"cp -r :/link :/a/b",
		"cp -r :/a :/into",
		"cp -r :/a :/into/new",
		"cp -r :/a :/other/../into/../new", // the parent of the link's target
		"cp -r :/ :/a",
		"cp -r :/ :/new",
		"cp -r :/other :/a :/a/b", // the first source could be copied
		"cp -r " + s.source + "/a :/a/b",
	} {
		assert.Contains(t, s.no(ExitUsage, line), intoItself, line)
		require.Equal(t, before, s.ok("ls -laR /"), line)
	}
	assert.Contains(t, s.no(ExitFailed, "cp -r :/a :/c"), ":/c/a/b: "+linkRefused, "a link in the target leads back")
	require.Equal(t, before, s.ok("ls -laR /"))
	for _, line := range []string{
		"cp -r --quiet :/a :/ab",
		"cp -r --quiet :/a/b/deep :/a",
		"cp -r --quiet :/a/b :/a/b2",
		"cp -r --quiet :/link/b :/link/b3",
	} {
		s.ok(line)
	}
	assert.Contains(t, s.ok("ls -R /ab"), "/ab/b/deep:\n")
	assert.Contains(t, s.ok("ls /a"), "b2\nb3\ndeep\n")
}

// TestCopyBetweenTwins copies the root of one file system to another one with the same name, number and root handle.
func TestCopyBetweenTwins(t *testing.T) {
	s := newShell(t)
	s.ok("mkdir -p /a/b")
	other := pvfstest.Start(t, pvfstest.Options{Servers: 1}).Source()
	s.ok("cp -r --quiet :/ " + other + "/")
	s.ok("cp -r --quiet :/ " + other + "/a/b")
	assert.Contains(t, s.ok("ls -R "+other+"/a"), "/a/b/a/b:\n")
}

// TestCopyIntoItselfThroughAMount: the same if one side is seen through a mount.
func TestCopyIntoItselfThroughAMount(t *testing.T) {
	s, dir := mountedShell(t)
	s.ok("mkdir -p /a/b")
	s.in = []byte("some bytes")
	s.ok("put /a/f")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(filepath.Join(dir, "a/b"), link))
	before := s.ok("ls -laR /")
	for _, line := range []string{
		"cp -r :/a " + dir + "/a/b",
		"cp -r :/a " + dir + "/a/new",
		"cp -r :/a " + link,
		"cp -r :/ " + dir + "/new",
		"cp -r " + dir + "/a :/a/b",
		"cp -r " + dir + " :/a/b",
	} {
		assert.Contains(t, s.no(ExitUsage, line), intoItself, line)
		require.Equal(t, before, s.ok("ls -laR /"), line)
	}
	for _, line := range []string{"cp :/a/f " + dir + "/a", "cp " + dir + "/a/f :/a", "cp -r :/ " + dir} {
		assert.Contains(t, s.no(ExitUsage, line), "are the same", line)
		assert.Equal(t, "some bytes", s.ok("cat /a/f"), line)
	}
	s.ok("cp -r --quiet :/a " + dir + "/c")
	assert.Equal(t, "b\nf\n", s.ok("ls /c"))
}

// mountedShell is a shell whose file system is also mounted on a directory.
func mountedShell(t *testing.T) (s *shell, dir string) {
	fusetest.Need(t)
	s, dir = newShell(t), empty(t)
	ctx, interrupt := context.WithTimeout(context.Background(), time.Minute)
	read, write := io.Pipe()
	var errs strings.Builder
	code := make(chan int, 1)
	go func() {
		app := &App{Out: write, Err: &errs}
		code <- app.Main(ctx, []string{"mount", "--keep", "0s", s.source, dir})
		write.Close()
	}()
	if _, err := read.Read(make([]byte, 200)); err != nil {
		<-code
		interrupt()
		t.Fatal(errs.String())
	}
	t.Cleanup(func() {
		interrupt()
		assert.Equal(t, ExitOK, <-code)
	})
	return s, dir
}
