package pvfs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/stock"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// These tests run commands and stock tools against stock servers; docs/guides/orangefs.md.

// newStock starts stock servers, and returns a shell and stock's tools for their file system.
func newStock(t *testing.T, servers int) (*stock.Cluster, *shell, *stock.Tools) {
	t.Helper()
	c := stock.Start(t, stock.Options{Servers: servers})
	t.Setenv(keyVariable, c.KeyFile())
	return c, &shell{t: t, source: c.Source()}, c.Tools(t, c.Source())
}

// TestStockCommands runs other tests against stock servers. Then stock's tools check the file system.
func TestStockCommands(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, s *shell){
		"NamesAndLists": namesAndLists, "MistypedNames": mistypedNames, "PutCatTruncate": putCatTruncate, "Stat": statShows,
		"Attributes": attributes, "Xattrs": xattrs, "Bench": benchWorks, "Completion": completes,
		"Copy": func(t *testing.T, s *shell) {
			_, other, _ := newStock(t, 1)
			copyInOutAndBetween(t, s, other.source)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, s, tools := newStock(t, 2)
			test(t, s)
			inOrder(t, tools)
		})
	}
	t.Run("Servers", func(t *testing.T) {
		c, s, _ := newStock(t, 2)
		servers(t, s, c.Address(0), c.Address(1))
	})
}

// inOrder requires that stock's checks find nothing: they print their steps, and one more line for each fault.
func inOrder(t *testing.T, tools *stock.Tools) {
	t.Helper()
	tools.Settle(t)
	for line := range strings.Lines(tools.OK(t, "pvfs2-fsck", "-m", stock.MountPoint)) {
		require.True(t, strings.HasPrefix(line, "# "), "pvfs2-fsck says %q", line)
	}
	for line := range strings.Lines(tools.OK(t, "pvfs2-validate", "-c", "-d", stock.MountPoint)) {
		fine := line == "No stranded objects found.\n" || strings.HasPrefix(line, "pvfs2-validate ")
		require.True(t, fine, "pvfs2-validate says %q", line)
	}
}

// TestStockBothWays: each side reads the files of the other, and both report the same layout.
func TestStockBothWays(t *testing.T) {
	_, s, tools := newStock(t, 3)
	dir := t.TempDir()
	local := func(name string) string { return filepath.Join(dir, name) }
	for _, n := range []int{0, 1, 16000, 65536, 65537, 300_001, 5<<20 + 3} {
		for _, strip := range []int{0, 4096, 100_000} {
			name := fmt.Sprintf("%d-%d", n, strip)
			require.NoError(t, os.WriteFile(local(name), pattern(n), 0o644))
			in, put := []string{local(name), stock.Path("/theirs-" + name)}, []string{"put", "/ours-" + name}
			if strip > 0 {
				in = append([]string{"-s", fmt.Sprint(strip), "-n", "2"}, in...)
				put = append([]string{"put", "--strip", fmt.Sprint(strip), "--parts", "2"}, put[1:]...)
			}
			tools.OK(t, "pvfs2-cp", in...)
			s.in = pattern(n)
			_, errs, code := s.run(put...)
			require.Equal(t, ExitOK, code, errs)
			requireBytes(t, s.in, []byte(s.ok("cat /theirs-"+name)))
			tools.OK(t, "pvfs2-cp", stock.Path("/ours-"+name), local("out-"+name))
			got, err := os.ReadFile(local("out-" + name))
			require.NoError(t, err)
			requireBytes(t, pattern(n), got)
			for _, whose := range []string{"/theirs-", "/ours-"} {
				sameLayout(t, s, tools, whose+name)
			}
		}
	}
	inOrder(t, tools)
}

// requireBytes compares without printing all of them.
func requireBytes(t *testing.T, want, got []byte) {
	t.Helper()
	require.Equal(t, len(want), len(got), "bytes")
	for i := range want {
		if got[i] != want[i] {
			require.FailNowf(t, "wrong bytes", "the first at %d is %d, not %d", i, got[i], want[i])
		}
	}
}

var (
	viewedName  = regexp.MustCompile(`dist_name = (\S+)`)
	viewedStrip = regexp.MustCompile(`strip_size:(\d+)`)
	viewedMeta  = regexp.MustCompile(`Metadataserver: (\S+)`)
	viewedPart  = regexp.MustCompile(`Datafile \d+ - (\S+), handle: (\d+) `)
)

// sameLayout compares the outputs of pvfs2-viewdist and pvfs stat.
func sameLayout(t *testing.T, s *shell, tools *stock.Tools, name string) {
	t.Helper()
	var d described
	require.NoError(t, json.Unmarshal([]byte(s.ok("stat --json "+name)), &d))
	seen := tools.OK(t, "pvfs2-viewdist", "-f", stock.Path(name))
	require.Equal(t, viewedName.FindStringSubmatch(seen)[1], d.Layout.Distribution, name)
	require.Equal(t, viewedStrip.FindStringSubmatch(seen)[1], fmt.Sprint(d.Layout.Strip), name)
	var want, got []string
	for _, m := range viewedPart.FindAllStringSubmatch(seen, -1) {
		want = append(want, "("+m[1]+") "+m[2])
	}
	for _, p := range d.Layout.Parts {
		_, address, _ := strings.Cut(p.Server, " ") // without the alias
		got = append(got, fmt.Sprint(address, " ", p.Handle))
	}
	require.Equal(t, want, got, name)
	require.Contains(t, d.Server, "("+viewedMeta.FindStringSubmatch(seen)[1]+")", name)
}

// TestStockToolsSee: each side sees the other's changes.
func TestStockToolsSee(t *testing.T) {
	_, s, tools := newStock(t, 2)
	s.in = pattern(100_000)
	s.ok("mkdir -p /d/e")
	s.ok("put /d/f")
	s.ok("chmod 0640 /d/f")
	s.ok("chown 5:6 /d/f")
	s.ok("ln -s e/../f /d/l")
	s.ok("xattr set user.a one /d/f")
	listed := tools.OK(t, "pvfs2-ls", "-aln", stock.Path("/d"))
	assert.Regexp(t, `-rw-r-----\s+1\s+5\s+6\s+100000 .* f\n`, listed)
	assert.Regexp(t, `l\S+ .* l -> e/../f\n`, listed)
	assert.Regexp(t, `drwxr-xr-x .* e\n`, listed)
	assert.Contains(t, tools.OK(t, "pvfs2-xattr", "-t", "-k", "user.a", stock.Path("/d/f")), "one")
	assert.Contains(t, tools.OK(t, "pvfs2-stat", stock.Path("/d/f")), "100000")
	s.ok("mv /d/f /d/e/g")
	s.ok("rm /d/l")
	assert.Equal(t, "e\n", tools.OK(t, "pvfs2-ls", stock.Path("/d")))
	assert.Equal(t, "g\n", tools.OK(t, "pvfs2-ls", stock.Path("/d/e")))
	s.ok("truncate --size 10 /d/e/g")
	tools.OK(t, "pvfs2-cp", stock.Path("/d/e/g"), filepath.Join(tools.Dir, "g"))
	got, err := os.ReadFile(filepath.Join(tools.Dir, "g"))
	require.NoError(t, err)
	assert.Equal(t, pattern(10), got)

	tools.OK(t, "pvfs2-mkdir", stock.Path("/t"))
	tools.OK(t, "pvfs2-touch", stock.Path("/t/new"))
	tools.OK(t, "pvfs2-ln", "-s", "new", stock.Path("/t/link"))
	tools.OK(t, "pvfs2-chmod", "604", stock.Path("/t/new"))
	tools.OK(t, "pvfs2-chown", "root", "root", stock.Path("/t/new"))
	tools.OK(t, "pvfs2-xattr", "-s", "-k", "user.theirs", "-v", "two", stock.Path("/t/new"))
	var d described
	require.NoError(t, json.Unmarshal([]byte(s.ok("stat --json /t/new")), &d))
	assert.Equal(t, "0604 0:0 0", fmt.Sprintf("%s %d:%d %d", d.Mode, d.UID, d.GID, d.Size))
	assert.Contains(t, s.ok("ls -l /t"), "link -> new")
	assert.Equal(t, "two", strings.TrimRight(s.ok("xattr get user.theirs /t/new"), "\x00"))
	s.ok("rm -r /t")
	assert.Equal(t, "d\nlost+found\n", tools.OK(t, "pvfs2-ls", stock.Path("/")))
	inOrder(t, tools)
}

// TestStockCommandsAfterRestart: killed servers have all their data after a restart, and a command that needs a stopped server
// says so.
func TestStockCommandsAfterRestart(t *testing.T) {
	// Killed stock servers lose data that they have not synced, for example sizes of datafiles.
	c := stock.Start(t, stock.Options{Servers: 2, Config: func(o *config.GenOptions) { o.NoSyncMeta, o.SyncData = false, true }})
	t.Setenv(keyVariable, c.KeyFile())
	s, tools := &shell{t: t, source: c.Source()}, c.Tools(t, c.Source())
	s.in = pattern(300_000)
	s.ok("put --sync /f")
	for i := range c.Len() {
		c.Kill(i)
		// Only the first server is in the table, so nothing works without it.
		if out, errs, code := s.run("cat", "/f"); i == 0 || code != ExitOK {
			assert.Equal(t, ExitNobody, code, "%s%s", out[:min(len(out), 100)], errs)
		}
		c.Restart(i)
		requireBytes(t, s.in, []byte(s.ok("cat /f")))
		s.ok(fmt.Sprintf("mkdir /d%d", i))
	}
	inOrder(t, tools)
}
