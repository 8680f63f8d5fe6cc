package pvfsd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/cli/manner"
	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// far is a limit that only a hang reaches.
const far = wallclock.Patience

var number atomic.Int64

func newAddress(method string) string {
	return fmt.Sprintf("%s://pvfsd-test-%d-%d", method, os.Getpid(), number.Add(1))
}

// run is one run of the command inside this process.
type run struct {
	t        *testing.T
	out, err logtext.Buffer
	code     int
	done     chan struct{}
	stop     context.CancelFunc
}

func start(t *testing.T, args ...string) *run {
	t.Helper()
	r := &run{t: t, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	app := &App{Out: &r.out, Err: &r.err}
	go func() {
		defer close(r.done)
		r.code = app.Main(ctx, args)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

func (r *run) wait() *run {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(far):
		require.FailNow(r.t, "the command hangs", r.err.String())
	}
	return r
}

// pvfsd runs the command until it ends.
func pvfsd(t *testing.T, args ...string) *run {
	t.Helper()
	return start(t, args...).wait()
}

// good runs the command, which must succeed.
func good(t *testing.T, args ...string) string {
	t.Helper()
	r := pvfsd(t, args...)
	require.Equal(t, ExitOK, r.code, "%v: %s", args, r.err.String())
	return r.out.String()
}

// newConfig is a configuration for these servers.
func newConfig(t *testing.T, servers ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fs.conf")
	good(t, append([]string{"genconfig", "-o", name, "--no-sync-meta"}, servers...)...)
	return name
}

// serving starts a server and waits until it listens. It returns its addresses.
func serving(t *testing.T, args ...string) (*run, []string) {
	t.Helper()
	r := start(t, append([]string{"serve"}, args...)...)
	line := regexp.MustCompile(`pvfsd: \S+ serves \S+ at (.*)\n`)
	var found []string
	require.Eventually(t, func() bool {
		select {
		case <-r.done:
			return true
		default:
		}
		found = line.FindStringSubmatch(r.err.String())
		return found != nil
	}, far, time.Millisecond, r.err.String())
	require.NotNil(t, found, r.err.String())
	return r, strings.Split(found[1], ", ")
}

// fetch asks a server for its configuration.
func fetch(t *testing.T, address string) string {
	t.Helper()
	ep, err := bmi.Open(context.Background(), bmi.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, ep.Close()) }()
	to, err := ep.Lookup(address)
	require.NoError(t, err)
	c := rpc.NewCaller(ep, rpc.Options{Timeout: far})
	defer func() { require.NoError(t, c.Close()) }()
	var resp proto.GetConfigResp
	require.NoError(t, c.Call(context.Background(), to, nil, &proto.GetConfigReq{}, &resp))
	return resp.Text
}

func TestServeOverSeveralMethods(t *testing.T) {
	shm, mem := newAddress("via+shm"), newAddress("mem")
	conf, dir := newConfig(t, "one=tcp://127.0.0.1:0,"+shm+","+mem), filepath.Join(t.TempDir(), "data")
	text, err := os.ReadFile(conf)
	require.NoError(t, err)
	assert.Contains(t, good(t, "mkfs", "--config", conf, "--dir", dir), "for one of pvfs2-fs")
	r, addresses := serving(t, "--config", conf, "--dir", dir)
	require.Len(t, addresses, 3, r.err.String())
	for _, address := range addresses {
		assert.Equal(t, string(text), fetch(t, address), "byte for byte, over %s", address)
	}
	busy := pvfsd(t, "check", "--dir", dir)
	assert.Equal(t, ExitInUse, busy.code, busy.err.String())
	r.stop()
	assert.Equal(t, ExitOK, r.wait().code, r.err.String())
	assert.Contains(t, r.err.String(), "one stops after 3 requests, 0 of them refused or failed")

	assert.Contains(t, good(t, "check", "--config", conf, "--dir", dir), "is in order")
	again, _ := serving(t, "--config", conf, "--dir", dir, "--alias", "one")
	again.stop()
	assert.Equal(t, ExitOK, again.wait().code)
}

func TestServeWithAKeyAndALog(t *testing.T) {
	one, two := newAddress("mem"), newAddress("mem")
	conf, folder := newConfig(t, "one="+one, "two="+two), t.TempDir()
	key := filepath.Join(folder, "key")
	require.NoError(t, os.WriteFile(key, []byte("a key that all servers have"), 0o600))
	log := filepath.Join(folder, "log")
	for _, alias := range []string{"one", "two"} {
		serving(t, "--config", conf, "--alias", alias, "--dir", filepath.Join(folder, alias), "--create", "--key-file", key, "--log-file", log, "--log-level", "debug")
	}
	assert.Equal(t, fetch(t, one), fetch(t, two))
	assert.FileExists(t, log)

	r, _ := serving(t, "--config", newConfig(t, "one="+newAddress("mem"), "two="+newAddress("mem")), "--alias", "two",
		"--dir", filepath.Join(folder, "unsigned"), "--create")
	assert.Contains(t, r.err.String(), "nothing is signed")
}

// TestServeSaysWhatItDoesNotProtectFrom: rules for clients need a key, and a key does not authenticate users.
func TestServeSaysWhatItDoesNotProtectFrom(t *testing.T) {
	folder := t.TempDir()
	conf := filepath.Join(folder, "fs.conf")
	good(t, "genconfig", "-o", conf, "--no-sync-meta", "--read-only", "mem://*", "one="+newAddress("mem"), "two="+newAddress("mem"))
	r := pvfsd(t, "serve", "--config", conf, "--alias", "one", "--dir", filepath.Join(folder, "one"), "--create")
	assert.Equal(t, ExitUsage, r.code, r.err.String())
	assert.Contains(t, r.err.String(), "ReadOnly")
	assert.Contains(t, r.err.String(), "give all servers the same key")

	r, _ = serving(t, "--config", newConfig(t, "--insecure", newAddress("mem")), "--dir", filepath.Join(folder, "alone"), "--create")
	assert.Contains(t, r.err.String(), "clients are not authenticated and may name any user")

	limited := filepath.Join(folder, "limited.conf")
	good(t, "genconfig", "-o", limited, "--no-sync-meta", "--trusted", "mem://*", newAddress("mem"))
	r, _ = serving(t, "--config", limited, "--dir", filepath.Join(folder, "limited"), "--create")
	assert.NotContains(t, r.err.String(), "level=WARN")
}

func TestServeAtAnAddressThatIsTaken(t *testing.T) {
	address := newAddress("via+shm")
	conf, folder := newConfig(t, address), t.TempDir()
	serving(t, "--config", conf, "--dir", filepath.Join(folder, "a"), "--create")
	r := pvfsd(t, "serve", "--config", conf, "--dir", filepath.Join(folder, "b"), "--create")
	assert.Equal(t, ExitInUse, r.code, r.err.String())
	assert.Contains(t, r.err.String(), address)
}

func TestGenconfig(t *testing.T) {
	text := good(t, "genconfig", "--fs-name", "data", "--id", "77", "--root", "1234", "--meta-only", "a", "--data-only", "b,c",
		"--flow-buffer-size", "65536", "--datafiles", "2", "--trusted", "tcp://10.0.0.0@8",
		"a=tcp://a:3334,via+udp://a:3335", "b=tcp://b:3334", "c=tcp://c:3334")
	c, err := config.Parse(text)
	require.NoError(t, err)
	assert.Equal(t, "data", c.Name)
	assert.Equal(t, proto.FSID(77), c.ID)
	assert.Equal(t, proto.Handle(1234), c.Root)
	assert.Equal(t, []int{0}, c.MetaServers())
	assert.Equal(t, []int{1, 2}, c.DataServers())
	assert.Equal(t, []string{"tcp://a:3334", "via+udp://a:3335"}, c.Servers[0].Addresses())
	assert.Equal(t, 65536, c.FlowBufferSize)
	assert.Equal(t, 2, c.DefaultDatafiles)
	assert.True(t, c.Security.TrustedNetworks.Match("tcp://10.1.2.3:4"))
	assert.False(t, c.Security.TrustedNetworks.Match("tcp://11.1.2.3:4"))
}

// TestGenconfigRanges: ranges in brackets stand for several servers.
func TestGenconfigRanges(t *testing.T) {
	text := good(t, "genconfig", "--trusted", "tcp://10.0.0.0@8", "--meta-only", "io[01-02]", "--data-only", "io[03-10],x",
		"io[01-10]=tcp://node[01-10].lan:3334,via+udp://[2001:db8::1]:[1-10]", "x=tcp://[::1]:3334")
	c, err := config.Parse(text)
	require.NoError(t, err)
	require.Len(t, c.Servers, 11)
	assert.Equal(t, "io01", c.Servers[0].Alias)
	assert.Equal(t, []string{"tcp://node10.lan:3334", "via+udp://[2001:db8::1]:10"}, c.Servers[9].Addresses())
	assert.Equal(t, []string{"tcp://[::1]:3334"}, c.Servers[10].Addresses())
	assert.Equal(t, []int{0, 1}, c.MetaServers())
	assert.Len(t, c.DataServers(), 9)
}

func TestCheckFindsDamage(t *testing.T) {
	conf, dir := newConfig(t, newAddress("mem")), filepath.Join(t.TempDir(), "data")
	good(t, "mkfs", "--config", conf, "--dir", dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, databaseName), []byte("nothing of a database"), 0o600))
	r := pvfsd(t, "check", "--dir", dir)
	assert.NotEqual(t, ExitOK, r.code)
	assert.NotEmpty(t, r.err.String())
}

// TestCheckAll: two stores are correct on their own, but not together.
func TestCheckAll(t *testing.T) {
	conf := newConfig(t, "a="+newAddress("mem"), "b="+newAddress("mem"))
	folder := t.TempDir()
	dirs := map[string]string{"a": filepath.Join(folder, "a"), "b": filepath.Join(folder, "b")}
	args := []string{"check", "--all", "--config", conf}
	for _, alias := range []string{"a", "b"} {
		good(t, "mkfs", "--config", conf, "--alias", alias, "--dir", dirs[alias])
		args = append(args, "--at", alias+"="+dirs[alias])
	}
	good(t, append(args, "--repair")...) // lost+found does not exist yet
	assert.Contains(t, good(t, args...), "is in order: 2 servers of 2")

	p, err := (&placeOptions{config: conf, alias: "b", dir: dirs["b"]}).find()
	require.NoError(t, err)
	st, err := store.Open(p.dir, p.options())
	require.NoError(t, err)
	require.NoError(t, st.Update(func(tx *store.Tx) error {
		_, err := tx.Create(store.MetaSpace, store.Object{Attr: proto.Attr{Type: proto.TypeSymlink, Target: "lost"}})
		return err
	}))
	require.NoError(t, st.Close())

	good(t, "check", "--dir", dirs["b"])
	r := pvfsd(t, args...)
	assert.Equal(t, ExitDamaged, r.code, r.out.String())
	assert.Contains(t, r.err.String(), "interrupted operations left something: 1 problem; --repair repairs")
	found := pvfsd(t, append(args, "--json")...)
	require.Equal(t, ExitDamaged, found.code)
	require.NoError(t, manner.CheckJSON(Command(), "check", found.out.String()))
	good(t, append(args, "--repair")...)
	good(t, args...)
	assert.Empty(t, good(t, append(args, "--json")...), "no problem, no line")

	assert.Contains(t, good(t, args[:len(args)-2]...), "server b is left out")
	assert.Contains(t, pvfsd(t, "check", "--all", "--config", conf, "--at", "c=/nowhere").err.String(), "the servers are: a, b")
}

func TestMistakesGetHelpfulErrors(t *testing.T) {
	folder := t.TempDir()
	conf := newConfig(t, "one="+newAddress("mem"), "two="+newAddress("mem"))
	single := newConfig(t, "one="+newAddress("mem"))
	made := filepath.Join(folder, "made")
	good(t, "mkfs", "--config", single, "--dir", made)
	file := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(name, []byte(text), mode))
		require.NoError(t, os.Chmod(name, mode))
		return name
	}
	open, short := file("open", "a key that others can read", 0o644), file("short", "short", 0o600)
	broken := file("broken.conf", "<Defaults>\n", 0o600)
	misspelt := file("misspelt.conf", "<Defaults>\nLogFyle x\n</Defaults>\n", 0o600)
	for _, test := range []struct {
		args string
		want string
	}{
		{"srve", `unknown command "srve"; did you mean serve?`},
		{"serve", "Give --config fs.conf"},
		{"serve extra", `takes only options, not "extra"`},
		{"serve -confg x", "pvfsd serve has no option -confg; did you mean --config?"},
		{"serve --config " + folder + "/none", "no such file"},
		{"serve --config " + broken, "broken.conf"},
		{"serve --config " + misspelt, `misspelt.conf:2: <Defaults> has no keyword "LogFyle": did you mean LogFile?`},
		{"mkfs --config " + misspelt, `did you mean LogFile?`},
		{"check --config " + misspelt, `did you mean LogFile?`},
		{"check-config", "Give its file: pvfsd check-config fs.conf"},
		{"check-config " + conf + " " + conf, "takes one file, not 2"},
		{"check-config --alias three " + conf, `no server "three"; its servers are: one, two`},
		{"check-config " + folder + "/none", "no such file"},
		{"check-config " + folder, "is a directory"},
		{"check-config " + misspelt, `did you mean LogFile?`},
		{"serve --config " + conf, "Give --alias, one of: one, two"},
		{"serve --config " + conf + " --alias three", `no server "three"; its servers are: one, two`},
		{"serve --config " + single + " --dir " + folder + "/none", "pvfsd mkfs makes one, or --create here"},
		{"serve --config " + single + " --dir " + folder + " --create", "is not empty"},
		{"serve --config " + single + " --dir " + made + " --key-file " + open, "chmod 600"},
		{"serve --config " + single + " --dir " + made + " --key-file " + short, "characters are too short for a key"},
		{"serve --config " + single + " --dir " + made + " --key-file " + folder + "/none", "no such file"},
		{"serve --config " + single + " --dir " + made + " --log-file " + folder + "/no/log", "no such file"},
		{"serve --config " + single + " --dir " + made + " --workers -1", "--workers cannot be negative"},
		{"serve --config " + single + " --dir " + made + " --flow-memory 64", "--flow-memory 64 B: give 1 MiB or more, with its unit"},
		{"serve --config " + single + " --dir " + made + " --manage-from tcp://10.0.0.*", "begin with the method of an address of this server: mem://"},
		{"serve --config " + single + " --dir " + made + " --manage-from mem://[", "--manage-from mem://["},
		{"serve --config " + single + " --dir " + made + " --fs-name other", "no such file system"},
		{"mkfs --config " + single + " --dir " + made, "has a store already"},
		{"mkfs --config " + single + " --dir " + folder, "is not empty"},
		{"check --dir " + folder, "is it the right folder?"},
		{"check", "Give --config fs.conf"},
		{"genconfig", "which servers?"},
		{"genconfig host:3334", `"host:3334" is no address; one looks like tcp://HOST:PORT`},
		{"genconfig tpc://host:3334", `no method "tpc"; available: `},
		{"genconfig =tcp://host:3334", "no alias in front"},
		{"genconfig a[1-3]=tcp://host[1-4]:3334", "tcp://host[1-4]:3334 stands for 4 servers and a[1-3] for 3"},
		{"genconfig tcp://host[1-4]:3334,via+shm://all", "tcp://host[1-4]:3334 stands for 4 servers and via+shm://all for 1"},
		{"genconfig tcp://host[1-:3334", `"tcp://host[1-:3334": a [ has no ]`},
		{"genconfig tcp://host[4-1]:3334", "the range ends before it begins"},
		{"genconfig tcp://host:3334,,tcp://other:3334", "a name is empty"},
		{"genconfig a=tcp://host:3334 a=tcp://other:3334", `two servers have the alias "a"`},
		{"genconfig --meta-only b a=tcp://host:3334", "no server has this alias"},
		{"genconfig --meta-only a a=tcp://10.0.0.1:3334", "needs a server for metadata and one for data"},
		{"genconfig -o " + single + " tcp://10.0.0.1:3334", "exists already"},
		{"serve --config " + single + " --dir " + made + " --identities " + short, "want a client and its users"},
		{"genconfig tcp://no-such-host.invalid:3334", "give it with --trusted"},
		{"genconfig -o " + folder + "/new.conf --key-file " + open + " a=mem://a b=mem://b", "chmod 600"},
	} {
		r := pvfsd(t, strings.Fields(test.args)...)
		assert.Equal(t, ExitUsage, r.code, "%s: %s", test.args, r.err.String())
		assert.Contains(t, r.err.String(), test.want, test.args)
		assert.Contains(t, r.err.String(), "Run 'pvfsd help'", test.args)
	}
}

func TestHelpAndVersion(t *testing.T) {
	assert.Contains(t, good(t), "Three steps")
	assert.Contains(t, good(t, "version"), "pvfsd ")
	for _, verb := range []string{"serve", "mkfs", "check", "check-config", "genconfig"} {
		assert.Contains(t, good(t, "help", verb), "Exit codes", verb)
	}
}
