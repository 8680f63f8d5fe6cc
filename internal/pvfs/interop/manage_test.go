package interop

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/stock"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// handle is the handle of a name in the output of pvfs2-stat.
func (w *world) handle(t testing.TB, name string) proto.Handle {
	t.Helper()
	var h uint64
	_, err := fmt.Sscan(w.fields(t, name)["Handle"], &h)
	require.NoError(t, err)
	return proto.Handle(h)
}

// damage changes the store of a handle's server.
func (w *world) damage(t testing.TB, h proto.Handle, do func(*store.Tx) error) {
	t.Helper()
	i, ok := w.cluster.FS.Owner(h)
	require.True(t, ok)
	require.NoError(t, w.cluster.Store(i).Update(do))
}

// TestFsck: pvfs2-fsck finds nothing in an intact file system, and finds and repairs damage.
func TestFsck(t *testing.T) {
	for _, n := range fleets {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := ours(t, n, nil)
			w.OK(t, "pvfs2-mkdir", at("/d"))
			in := w.local(t, "in", content(300000))
			for i := range 5 {
				w.OK(t, "pvfs2-cp", in, at(fmt.Sprintf("/d/f%d", i)))
			}
			clean := w.OK(t, "pvfs2-fsck", "-m", at("/"), "-n")
			require.NotContains(t, clean, "*", "there is no damage")

			// A name without a file, and a file without a name. (pvfs2-fsck also finds datafiles without a file. But it crashes
			// when it removes an object, also with stock servers: it asserts that the object has a parent.)
			lost := w.handle(t, "/d/f0")
			var parts []proto.Handle
			w.damage(t, lost, func(tx *store.Tx) error {
				o, err := tx.Get(lost)
				parts = append(o.Datafiles, lost)
				return err
			})
			for _, h := range parts {
				w.damage(t, h, func(tx *store.Tx) error { return tx.Delete(h) })
			}
			orphan := w.handle(t, "/d/f1")
			dir := w.handle(t, "/d")
			var dirdata proto.Handle
			w.damage(t, dir, func(tx *store.Tx) error {
				o, err := tx.Get(dir)
				dirdata = o.DistDir.Dirdata[0]
				return err
			})
			w.damage(t, dirdata, func(tx *store.Tx) error { _, err := tx.Unlink(dirdata, "f1"); return err })

			found := w.OK(t, "pvfs2-fsck", "-m", at("/"), "-n")
			require.Contains(t, found, "f0")
			require.Contains(t, found, fmt.Sprint(uint64(orphan)))
			require.Contains(t, w.OK(t, "pvfs2-ls", at("/d")), "f0", "-n changes nothing")
			if n > 1 {
				return // it may consider a datafile of the nameless file superfluous, also with stock servers
			}

			repaired := w.OK(t, "pvfs2-fsck", "-m", at("/"), "-y")
			require.Contains(t, repaired, "f0")
			require.NotContains(t, w.OK(t, "pvfs2-ls", at("/d")), "f0")
			saved := strings.Fields(w.OK(t, "pvfs2-ls", at("/lost+found")))
			require.NotEmpty(t, saved, "%s", repaired)
			whole := false
			for _, name := range saved {
				whole = whole || w.handle(t, "/lost+found/"+name) == orphan
			}
			require.True(t, whole, "the file without a name got one")
			after := w.OK(t, "pvfs2-fsck", "-m", at("/"), "-n")
			require.NotContains(t, after, "*")
			for i := 2; i < 5; i++ {
				require.Equal(t, content(300000), w.fetch(t, fmt.Sprintf("/d/f%d", i)))
			}
			w.OK(t, "pvfs2-touch", at("/d/normal-mode"))
		})
	}
}

// TestRemoveObject: pvfs2-remove-object removes a name, whatever it refers to. (It cannot remove an object: it asserts that the
// object has a parent, also with stock servers.)
func TestRemoveObject(t *testing.T) {
	w := ours(t, 2, nil)
	w.OK(t, "pvfs2-touch", at("/f"))
	require.Equal(t, "f\nlost+found\n", sorted(w.OK(t, "pvfs2-ls", at("/"))))
	w.OK(t, "pvfs2-remove-object", "-f", "1000", "-p", fmt.Sprint(uint64(w.cluster.FS.Root)), "-d", "f")
	require.Equal(t, "lost+found\n", w.OK(t, "pvfs2-ls", at("/")))
}

// sorted is a text with sorted lines.
func sorted(s string) string {
	lines := strings.SplitAfter(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestAdminMode: in admin mode names can be read, and nothing changes.
func TestAdminMode(t *testing.T) {
	w := ours(t, 2, nil)
	w.OK(t, "pvfs2-touch", at("/f"))
	w.OK(t, "pvfs2-set-mode", "-m", at("/"), "admin")
	require.Contains(t, w.OK(t, "pvfs2-ls", at("/")), "f\n")
	// Stock tools retry for a long time when they are refused. This request is sent once, and without any right.
	change := func(server int) error {
		_, err := w.cluster.Server(server).Do(t.Context(), bmi.Addr{}, &proto.Header{}, &proto.RmDirentReq{FS: w.cluster.FS.ID, Name: "f"})
		return err
	}
	for i := range w.addresses {
		require.Equal(t, proto.EAGAIN, change(i))
	}
	w.OK(t, "pvfs2-set-mode", "-m", at("/"), "normal")
	for i := range w.addresses {
		require.Equal(t, proto.EACCES, change(i))
	}
	w.OK(t, "pvfs2-touch", at("/g"))
}

// TestPerfMon: pvfs2-perf-mon-example prints the work of the servers.
func TestPerfMon(t *testing.T) {
	w := ours(t, 2, nil)
	w.OK(t, "pvfs2-cp", w.local(t, "in", content(3<<20)), at("/f"))
	p := w.Start(t, []string{"PVFS2TAB_FILE=" + w.Tab}, "pvfs2-perf-mon-example", "-m", at("/"), "-h", "4", "-k", "23")
	var said string
	require.Eventually(t, func() bool {
		said = p.Said()
		return strings.Count(said, "PVFS2 I/O server counters") >= 3
	}, time.Minute, 50*time.Millisecond, "it tells again and again")
	p.Kill()
	require.Regexp(t, regexp.MustCompile(`creates: \t1`), said)
	flows := regexp.MustCompile(`flow writes: \t(\d+)`).FindAllStringSubmatch(said, -1)
	require.NotEmpty(t, flows)
	total := 0
	for _, m := range flows[:2] {
		var n int
		_, err := fmt.Sscan(m[1], &n)
		require.NoError(t, err)
		total += n
	}
	require.Equal(t, 3<<20, total, "of both servers")
}

// TestExports: the export options of fs.conf apply to stock clients.
func TestExports(t *testing.T) {
	everybody := []string{"tcp://127.0.0.1"}
	for _, c := range []struct {
		name   string
		config func(*config.GenOptions)
		root   func(t *testing.T, w *world)
	}{
		{"nothing said", nil, func(t *testing.T, w *world) {
			w.OK(t, "pvfs2-touch", at("/f"))
			require.Equal(t, "0 (root)", w.fields(t, "/f")["Owner"])
		}},
		{"RootSquash", func(o *config.GenOptions) { o.RootSquash = everybody }, func(t *testing.T, w *world) {
			w.OK(t, "pvfs2-touch", at("/f"))
			require.Equal(t, "65534 (nobody)", w.fields(t, "/f")["Owner"])
			w.OK(t, "pvfs2-chown", "root", "root", at("/f"))
			require.Equal(t, "65534 (nobody)", w.fields(t, "/f")["Owner"], "whom it asks for is nobody, too")
			w.As(t, 1, 1).OK(t, "pvfs2-touch", at("/g"))
			require.Equal(t, "1 (daemon)", w.fields(t, "/g")["Owner"])
			w.Fails(t, "pvfs2-chmod", "777", at("/g"))
		}},
		{"RootSquashExceptions", func(o *config.GenOptions) { o.RootSquash, o.RootSquashExceptions = everybody, everybody }, func(t *testing.T, w *world) {
			w.OK(t, "pvfs2-touch", at("/f"))
			require.Equal(t, "0 (root)", w.fields(t, "/f")["Owner"])
		}},
		{"AllSquash", func(o *config.GenOptions) { o.AllSquash = everybody }, func(t *testing.T, w *world) {
			for i, who := range []*stock.Tools{w.Tools, w.As(t, 1, 1)} {
				name := fmt.Sprintf("/f%d", i)
				who.OK(t, "pvfs2-touch", at(name))
				require.Equal(t, "65534 (nobody)", w.fields(t, name)["Owner"])
				require.Equal(t, "65534 (nogroup)", w.fields(t, name)["Group"])
			}
		}},
		{"ReadOnly", func(o *config.GenOptions) { o.ReadOnly = everybody }, func(t *testing.T, w *world) {
			require.Contains(t, w.Fails(t, "pvfs2-touch", at("/f")), "Read-only file system")
			require.Contains(t, w.Fails(t, "pvfs2-mkdir", at("/d")), "Read-only file system")
			require.Contains(t, w.OK(t, "pvfs2-ls", at("/")), "lost+found")
		}},
		{"AnonUID", func(o *config.GenOptions) { o.AllSquash = everybody }, func(t *testing.T, w *world) {
			w.cluster.Reload(func(fs *config.Config) { fs.Export.AnonUID, fs.Export.AnonGID = 2, 3 })
			w.OK(t, "pvfs2-touch", at("/f"))
			require.Equal(t, "2 (bin)", w.fields(t, "/f")["Owner"])
			require.Equal(t, "3 (sys)", w.fields(t, "/f")["Group"])
		}},
	} {
		t.Run(c.name, func(t *testing.T) { c.root(t, ours(t, 2, c.config)) })
	}
}

// TestNetworks: clients from networks and ports that are not trusted are refused.
func TestNetworks(t *testing.T) {
	w := ours(t, 1, nil)
	w.OK(t, "pvfs2-ls", at("/"))
	ports := func(first, last int) {
		w.cluster.Reload(func(fs *config.Config) { fs.Security.TrustedPortFirst, fs.Security.TrustedPortLast = first, last })
	}
	ports(1, 1023) // not ports that the kernel gives to clients
	w.Fails(t, "pvfs2-stat", at("/"))
	ports(1024, 65535)
	w.OK(t, "pvfs2-stat", at("/"))
	elsewhere, err := config.ParseNetwork("tcp://10.1.2.3")
	require.NoError(t, err)
	w.cluster.Reload(func(fs *config.Config) { fs.Security.TrustedNetworks = config.Networks{elsewhere} })
	w.Fails(t, "pvfs2-stat", at("/"))
	w.cluster.Reload(func(*config.Config) {})
	w.OK(t, "pvfs2-stat", at("/"))
}

// TestTimeouts: stock clients get new capabilities when theirs have expired, inside one process.
func TestTimeouts(t *testing.T) {
	program := library(t)
	w := ours(t, 2, nil, func(cfg *server.Config) {
		cfg.FS.Security.CapabilityTimeout = 3 * time.Second // a shorter one may expire on a busy machine before it is used
	})
	w.local(t, "in", content(100000))
	lines := []string{"mkdir /d", "create /d/f 2"}
	calls := []string{"write /d/f 0 100000 in", "read /d/f 1000 1000 out", "flush /d/f", "truncate /d/f 50000"}
	for _, late := range calls { // the first with an expired capability
		lines = append(append(lines, calls...), "wait 4100", late)
	}
	for i, a := range w.script(t, program, lines...) {
		require.True(t, strings.HasPrefix(a, "ok"), "%s: %s", lines[i], a)
	}
}

// TestUsers: the rights of users apply to stock tools.
func TestUsers(t *testing.T) {
	w := ours(t, 2, nil)
	someone, other := w.As(t, 1, 1), w.As(t, 2, 2)
	w.OK(t, "pvfs2-mkdir", "-m", "0755", at("/d"))
	someone.Fails(t, "pvfs2-touch", at("/d/f"))
	w.OK(t, "pvfs2-chmod", "777", at("/d"))
	someone.OK(t, "pvfs2-touch", at("/d/f"))
	someone.OK(t, "pvfs2-chmod", "600", at("/d/f"))
	other.Fails(t, "pvfs2-chmod", "666", at("/d/f"))
	someone.Fails(t, "pvfs2-chown", "bin", "bin", at("/d/f"))
	other.Run(t, "pvfs2-xattr", "-s", "-k", "user.a", "-v", "b", at("/d/f")) // it does not report that it failed
	w.Fails(t, "pvfs2-xattr", "-t", "-k", "user.a", at("/d/f"))
	w.OK(t, "pvfs2-chown", "bin", "bin", at("/d/f"))
	other.OK(t, "pvfs2-chmod", "644", at("/d/f"))
	someone.Run(t, "pvfs2-set-mode", "-m", at("/"), "admin") // it reports success even if the servers refuse
	other.OK(t, "pvfs2-mkdir", at("/d/private"))
	other.OK(t, "pvfs2-chmod", "700", at("/d/private"))
	other.OK(t, "pvfs2-touch", at("/d/private/x"))
	someone.Fails(t, "pvfs2-stat", at("/d/private/x"))
	someone.Fails(t, "pvfs2-touch", at("/d/private/y"))
}
