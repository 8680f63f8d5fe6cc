package pvfs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
)

// TestMain runs the tests, or the command in a child process of one.
func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) != "" {
		app := &App{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
		os.Exit(app.Main(context.Background(), os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// commandEnv makes the test binary run as the command.
const commandEnv = "VIADUCT_TEST_PVFS"

// shell runs commands against one file system.
type shell struct {
	t      *testing.T
	source string
	env    map[string]string
	in     []byte
}

func newShell(t *testing.T) *shell {
	t.Helper()
	return &shell{t: t, source: pvfstest.Start(t, pvfstest.Options{}).Source()}
}

// run returns the output of a command, and its exit code.
func (s *shell) run(args ...string) (out, errs string, code int) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	env := s.env
	if env == nil {
		file := filepath.Join(s.t.TempDir(), "pvfs2tab")
		require.NoError(s.t, os.WriteFile(file, []byte("# ours\n"+s.source+" /mnt/pvfs2 pvfs2 defaults,noauto 0 0\n"), 0o644))
		env = map[string]string{"PVFS2TAB_FILE": file, keyVariable: os.Getenv(keyVariable)}
	}
	app := &App{In: bytes.NewReader(s.in), Out: &stdout, Err: &stderr, Getenv: func(key string) string { return env[key] }}
	app.mount.RetryDelay = time.Millisecond
	code = app.Main(context.Background(), args)
	return stdout.String(), stderr.String(), code
}

// ok is run for a command that must succeed. The line is split at blanks.
func (s *shell) ok(line string) string {
	s.t.Helper()
	out, errs, code := s.run(strings.Fields(line)...)
	require.Equal(s.t, ExitOK, code, "%s: %s", line, errs)
	return out
}

// no is run for a command that must fail, and returns the error text.
func (s *shell) no(code int, line string) string {
	s.t.Helper()
	out, errs, got := s.run(strings.Fields(line)...)
	require.Equal(s.t, code, got, "%s: %s%s", line, out, errs)
	return errs
}

func TestMistakesGetHelpfulErrors(t *testing.T) {
	s := &shell{t: t, env: map[string]string{"PVFS2TAB_FILE": "/nonexistent/tab"}}
	for line, want := range map[string]string{
		"lss":                                `unknown command "lss"; did you mean ln or ls?`,
		"ls":                                 "which file system? Give --fs tcp://HOST:PORT/NAME",
		"ls --nosuch":                        "pvfs ls has no option --nosuch",
		"ls nothing://x/fs/":                 "unknown method",
		"ls tcp://x":                         "want METHOD://ADDRESS/FILESYSTEM/path",
		"cp a":                               "pvfs cp takes one SOURCE or more, and a TARGET, not 1 arguments",
		"cp a b":                             "both local; names on the file system begin with a colon, like :/a",
		"cp --jobs 0 a :b":                   "--jobs must be more than 0",
		"mkdir":                              "takes one NAME or more",
		"mkdir -m 999 x":                     `bad mode "999"`,
		"ln a b":                             "ln -s makes a symbolic link",
		"chmod u!x a":                        `bad mode "u!x"`,
		"chmod 1777 a":                       "no sticky bit",
		"chown : a":                          `bad owner ":"`,
		"chown no-such-user-here a":          "no user is called",
		"chown :no-such-group a":             "no group is called",
		"touch --date noon a":                `bad --date "noon"`,
		"truncate a":                         "--size is missing",
		"truncate --size 1.5 a":              `bad size "1.5"`,
		"put --strip x a":                    `bad size "x"`,
		"bench --size x":                     `bad size "x"`,
		"bench --size 8EiB":                  `bad size "8EiB": the most is`,
		"bench --jobs 0":                     "--jobs must be more than 0",
		"ping --count -1":                    "--count and --interval cannot be negative",
		"xattr gett":                         `unknown command "gett"; did you mean get or set?`,
		"xattr set --create --replace k v n": "exclude each other",
		"--user x ls tcp://h:1/fs":           `bad --user "x"`,
	} {
		errs := s.no(ExitUsage, line)
		assert.Contains(t, errs, want, line)
		assert.Contains(t, errs, "pvfs help", line)
	}
}

func TestHelp(t *testing.T) {
	s := &shell{t: t}
	out := s.ok("help")
	for _, command := range []string{"ls", "cp", "cat", "put", "mkdir", "rm", "mv", "ln", "stat", "df", "ping", "xattr", "chmod", "chown", "touch", "truncate", "bench", "mount", "completion", "Exit codes: 0 success"} {
		assert.Contains(t, out, command)
	}
	assert.Contains(t, s.ok("completion bash"), "bash completion")
	assert.Regexp(t, `^pvfs \S+ go\S+ linux/\w+\n$`, s.ok("version"))
}

func TestNamesAndLists(t *testing.T) { namesAndLists(t, newShell(t)) }

func namesAndLists(t *testing.T, s *shell) {
	s.ok("mkdir -p /a/b/c")
	s.ok("touch /a/f /a/.hidden")
	assert.Equal(t, "b\nf\n", s.ok("ls /a"))
	assert.Equal(t, ".hidden\nb\nf\n", s.ok("ls -a /a"))
	assert.Equal(t, "/a/f\n", s.ok("ls /a/f"))
	assert.Equal(t, "b\nf\n", s.ok("ls "+s.source+"/a"))
	assert.Equal(t, "b\nf\n", s.ok("--fs "+s.source+" ls :a"))
	long := s.ok("ls -la /a")
	assert.Contains(t, long, "drwxr-xr-x")
	assert.Contains(t, long, "-rw-r--r--")
	assert.Equal(t, 3, strings.Count(long, "\n"))
	assert.Contains(t, s.ok("ls -R /a"), "/a/b/c:\n")

	s.ok("ln -s f /a/l")
	s.ok("chmod 6755 /a/f")
	s.ok("chmod 2750 /a/b")
	assert.Regexp(t, `^drwxr-s--- .* b\n-rwsr-sr-x .* f\nlrwxrwxrwx .* l -> f\n$`, s.ok("ls -l /a"))
	assert.Contains(t, s.ok("stat /a/f"), "mode 6755")
	s.ok("mv /a/f /a/b")
	assert.Equal(t, "c\nf\n", s.ok("ls /a/b"))
	s.ok("mv /a/b/f /a/g")
	s.ok("rm /a/g /a/l")
	assert.Contains(t, s.no(ExitUsage, "rm /a/b"), "rm -r removes it")
	s.ok("rm -rf /a/b /a/none")
	assert.Empty(t, s.ok("ls /a"))
	assert.Contains(t, s.no(ExitUsage, "rm -r /"), "rm does not remove /")
}

func TestMistypedNames(t *testing.T) { mistypedNames(t, newShell(t)) }

func mistypedNames(t *testing.T, s *shell) {
	s.ok("mkdir -p /projects/weather/Results")
	s.ok("touch /projects/weather/Results/data.bin")
	s.ok("ln -s nowhere /projects/broken")
	for line, want := range map[string]string{
		"ls /projects/wether/Results":             `/projects is there, but has no "wether"; did you mean "weather"?`,
		"cat /projects/weather/results/data.bin":  `/projects/weather is there, but has no "results"; did you mean "Results"?`,
		"stat /projects/weather/Results/data.bim": `did you mean "data.bin"?`,
		"ls /quite/other":                         `/ is there, but has no "quite"`,
		"ls /projects/broken":                     "is a symbolic link to nowhere, which does not exist",
		"cp :/projcts/x /tmp":                     `did you mean "projects"?`,
		"rm /projects/weather/x":                  `/projects/weather is there, but has no "x"`,
		"mv /projects/wether /x":                  `did you mean "weather"?`,
		"mkdir /projects/wether/new":              `did you mean "weather"?`,
	} {
		assert.Contains(t, s.no(ExitFailed, line), want, line)
	}
	assert.NotContains(t, s.no(ExitFailed, "ls /quite/other"), "did you mean")
}

func TestCopyInOutAndBetween(t *testing.T) {
	copyInOutAndBetween(t, newShell(t), pvfstest.Start(t, pvfstest.Options{Servers: 1}).Source())
}

func copyInOutAndBetween(t *testing.T, s *shell, other string) {
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	files := map[string]int{"small": 10, "empty": 0, "sub/strips": 200001, "sub/deep/large": 9<<20 + 7}
	for name, n := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), pattern(n), 0o640))
	}
	require.NoError(t, os.Symlink("sub/strips", filepath.Join(tree, "link")))
	require.NoError(t, os.Chmod(filepath.Join(tree, "small"), 0o444))
	old := time.Unix(1_500_000_000, 0)
	require.NoError(t, os.Chtimes(filepath.Join(tree, "small"), old, old))

	assert.Contains(t, s.no(ExitUsage, "cp "+tree+" :/"), "cp -r copies it")
	_, errs, code := s.run("cp", "-r", "-p", "--verify", tree, ":/in")
	require.Equal(t, ExitOK, code, errs)
	assert.Contains(t, errs, "copied 4 files, 9637202 bytes")
	assert.Contains(t, errs, "all verified by SHA-256")
	s.ok("cp -r --quiet --verify :/in " + other + "/between")
	s.ok("cp -r -p --quiet :/in " + dir + "/out")
	s.ok("cp -r --quiet " + other + "/between " + dir + "/out2")
	for _, out := range []string{"out", "out2"} {
		for name, n := range files {
			got, err := os.ReadFile(filepath.Join(dir, out, name))
			require.NoError(t, err)
			assert.Equal(t, sha256.Sum256(pattern(n)), sha256.Sum256(got), name)
		}
		target, err := os.Readlink(filepath.Join(dir, out, "link"))
		require.NoError(t, err)
		assert.Equal(t, "sub/strips", target)
		info, err := os.Stat(filepath.Join(dir, out, "small"))
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o444), info.Mode())
		if out == "out" {
			assert.Equal(t, old.Unix(), info.ModTime().Unix())
		}
	}
	assert.Contains(t, s.no(ExitUsage, "cp :/in/small :/in/small"), "are the same")

	// One file, into a directory and to a new name.
	_, errs, code = s.run("cp", "--verify", filepath.Join(tree, "sub/strips"), ":/in/sub")
	require.Equal(t, ExitOK, code, errs)
	assert.Contains(t, errs, fmt.Sprintf("sha256 %x", sha256.Sum256(pattern(200001))))
	assert.Contains(t, s.no(ExitUsage, "cp "+tree+"/small "+tree+"/empty :/new"), "only one file can go there")

	// An existing file keeps its mode.
	there := filepath.Join(dir, "there")
	require.NoError(t, os.WriteFile(there, pattern(20), 0o640))
	s.ok("cp --quiet :/in/small " + there)
	info, err := os.Stat(there)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o640), info.Mode())
	assert.EqualValues(t, 10, info.Size())
}

// pattern is bytes that encode their offset. The race detector would only make it slow.
//
//go:norace
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>16) ^ byte(i>>8) ^ byte(i)
	}
	return b
}

func TestPutCatTruncate(t *testing.T) { putCatTruncate(t, newShell(t)) }

func putCatTruncate(t *testing.T, s *shell) {
	s.in = pattern(5<<20 + 3)
	s.ok("put /f")
	assert.Equal(t, string(s.in), s.ok("cat /f"))
	s.ok("put --append /f")
	assert.Equal(t, string(s.in)+string(s.in), s.ok("cat /f"))
	s.ok("truncate --size 100000 /f")
	assert.Equal(t, string(s.in[:100000]), s.ok("cat /f"))
	s.ok("put --sync --strip 4KiB --parts 1 /g")
	assert.Equal(t, string(s.in), s.ok("cat /g"))
	s.in = nil
	s.ok("put /f")
	assert.Empty(t, s.ok("cat /f"))
	assert.Contains(t, s.no(ExitUsage, "cat /"), "ls lists it")

	s.ok("truncate --size 3TiB /f")
	assert.Contains(t, s.ok("stat /f"), "file of 3298534883328 bytes")
	s.ok("truncate --size 20GiB /f")
	assert.Contains(t, s.ok("stat /f"), "file of 21474836480 bytes")
	assert.Contains(t, s.no(ExitUsage, "truncate --size 8EiB /f"), `bad size "8EiB": the most is`)
}

func TestStat(t *testing.T) { statShows(t, newShell(t)) }

func statShows(t *testing.T, s *shell) {
	s.in = pattern(300000)
	s.ok("put --strip 64KiB --parts 2 /f")
	out := s.ok("stat /f")
	assert.Contains(t, out, "file of 300000 bytes, mode 0644")
	assert.Contains(t, out, "simple_stripe, strips of 65536 bytes over 2 parts")
	assert.Contains(t, out, "part 1 ")
	var d described
	require.NoError(t, json.Unmarshal([]byte(s.ok("stat --json /f")), &d))
	assert.EqualValues(t, 300000, d.Size)
	require.NotNil(t, d.Layout)
	assert.Len(t, d.Layout.Parts, 2)
	assert.Contains(t, s.ok("stat /"), "directory of")
	s.ok("ln -s f /l")
	assert.Contains(t, s.ok("stat /l"), "leads to   f")
	assert.Contains(t, s.ok("stat -L /l"), "300000 bytes")
}

func TestAttributes(t *testing.T) { attributes(t, newShell(t)) }

func attributes(t *testing.T, s *shell) {
	ok := func(line string) string {
		t.Helper()
		return s.ok("--user 0 " + line)
	}
	mode := func(name string) string {
		var d described
		require.NoError(t, json.Unmarshal([]byte(ok("stat --json "+name)), &d))
		return fmt.Sprintf("%s %d:%d", d.Mode, d.UID, d.GID)
	}
	ok("mkdir /d")
	ok("touch /d/f")
	ok("chmod 0640 /d/f")
	ok("chmod u+x,g-r,o=r /d/f")
	ok("chown 5:6 /d/f")
	assert.Equal(t, "0704 5:6", mode("/d/f"))
	ok("chmod -R a=rX /d")
	ok("chown -R :7 /d")
	assert.Equal(t, "0555 5:7", mode("/d/f"))
	assert.Equal(t, "0555 0:7", mode("/d"))
	assert.Contains(t, s.no(ExitFailed, "--user 1234 chmod 0777 /d/f"), "/d/f")

	_, errs, code := s.run("--user", "0", "touch", "--date", "2001-02-03 04:05:06", "/d/f")
	require.Equal(t, ExitOK, code, errs)
	assert.Contains(t, ok("ls -l /d"), "2001-02-03 04:05")
	ok("touch -c /d/none")
	assert.Equal(t, "f\n", ok("ls /d"))
}

func TestXattrs(t *testing.T) { xattrs(t, newShell(t)) }

func xattrs(t *testing.T, s *shell) {
	s.ok("touch /f")
	s.ok("xattr set user.a one /f")
	s.ok("xattr set --create user.b two /f")
	assert.Equal(t, "one", s.ok("xattr get user.a /f"))
	assert.Equal(t, "user.a\nuser.b\n", s.ok("xattr list /f"))
	assert.Equal(t, "user.a=one\nuser.b=two\n", s.ok("xattr list --values /f"))
	s.no(ExitFailed, "xattr set --create user.b three /f")
	s.ok("xattr rm user.a /f")
	assert.Contains(t, s.no(ExitFailed, "xattr get user.a /f"), `has no attribute "user.a"; pvfs xattr list`)
}

func TestServers(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	servers(t, &shell{t: t, source: c.Source()}, c.Address(0), c.Address(1))
}

// TestPingIsShort: ping does not wait as long for a silent server as commands that need the server.
func TestPingIsShort(t *testing.T) {
	t.Parallel() // it spends its time waiting
	c := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.TCP})
	s := &shell{t: t, source: c.Source()}
	c.Stop(1)
	silent, err := net.Listen("tcp", strings.TrimPrefix(c.Address(1), "tcp://"))
	require.NoError(t, err)
	defer func() { require.NoError(t, silent.Close()) }()
	assert.Contains(t, s.no(ExitNobody, "ping --timeout 100ms"), "no answer within 100ms")
}

// servers checks the output of ping and df for two servers.
func servers(t *testing.T, s *shell, addresses ...string) {
	out := s.ok("ping")
	for _, address := range addresses {
		assert.Contains(t, out, address+" answers")
	}
	out = s.ok("df")
	assert.Contains(t, out, "USE%")
	assert.Equal(t, 4, strings.Count(out, "\n"))
	assert.Equal(t, 2, strings.Count(s.ok("df --json"), "bytes_total"))
	assert.Contains(t, s.no(ExitNobody, "ls mem://nobody-is-here/pvfs2-fs/"), "nobody answers at mem://nobody-is-here, check the address and that the other side runs")
}

func TestBench(t *testing.T) { benchWorks(t, newShell(t)) }

func benchWorks(t *testing.T, s *shell) {
	out := s.ok("bench --verify --size 9MiB --files 20 --jobs 4")
	for _, test := range []string{"in ", "out ", "create ", "stat ", "remove "} {
		assert.Contains(t, out, test)
	}
	assert.Empty(t, strings.ReplaceAll(s.ok("ls /"), "lost+found\n", ""), "it leaves nothing")
	for line := range strings.Lines(s.ok("bench --json --size 0 --files 3 --jobs 1")) {
		var r result
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		assert.Positive(t, r.Rate)
	}
}

func TestCompletion(t *testing.T) { completes(t, newShell(t)) }

func completes(t *testing.T, s *shell) {
	s.ok("mkdir -p /data/one /other")
	s.ok("touch /data/only")
	assert.Contains(t, s.ok("__complete ls /da"), "/data/\n")
	assert.Contains(t, s.ok("__complete rm /data/on"), "/data/one/\n/data/only\n")
	assert.Contains(t, s.ok("__complete cp :/o"), ":/other/\n")
	assert.NotContains(t, s.ok("__complete cp /da"), "/data/")
}
