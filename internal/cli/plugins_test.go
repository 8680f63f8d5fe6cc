package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// servePlugin makes this test program a plugin, if it was started under the name of one.
func servePlugin() {
	switch filepath.Base(os.Args[0]) {
	case plugins.Prefix + "good":
		plugins.Serve(bmi.Drivers()...)
	case plugins.Prefix + "deaf":
		plugins.Serve(deaf{})
	case plugins.Prefix + "terse":
		plugins.Serve(terse{bmi.Drivers()[0]})
	}
}

// terse is a method without a description, which the suite demands.
type terse struct{ bmi.Driver }

func (d terse) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	m, err := d.Driver.Open(ctx, cfg)
	return terseMethod{m}, err
}

type terseMethod struct{ bmi.Method }

func (m terseMethod) Info() bmi.Info {
	i := m.Method.Info()
	i.Description = ""
	return i
}

// deaf is a method whose Open fails.
type deaf struct{}

func (deaf) Name() string { return "deaf" }
func (deaf) Open(context.Context, bmi.MethodConfig) (bmi.Method, error) {
	return nil, errors.New("deaf: nobody is here")
}

// pluginFolder is a folder with plugins of the given names, all of them this program.
func pluginFolder(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, name := range names {
		program, err := os.ReadFile(self)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, plugins.Prefix+name), program, 0o755))
	}
	return folder
}

// TestPluginThatLeadsNowhere: a link without a target is listed, with its error.
func TestPluginThatLeadsNowhere(t *testing.T) {
	link := filepath.Join(t.TempDir(), "bmi-method-link")
	require.NoError(t, os.Symlink("/nonexistent", link))
	r := bmiRun(t, "plugins", "check", link)
	assert.Equal(t, ExitFailed, r.code)
	assert.Contains(t, r.err.String(), link+": /nonexistent: no such file")
}

func TestMistakesAboutPlugins(t *testing.T) {
	folder := pluginFolder(t, "good", "deaf")
	good := filepath.Join(folder, "bmi-method-good")
	// Neither is useful after a mistyped name.
	require.NoError(t, os.Mkdir(filepath.Join(folder, "bmi-method-folder"), 0o755))
	require.NoError(t, os.Symlink("/nonexistent", filepath.Join(folder, "bmi-method-link")))
	for _, tc := range [][2]string{
		{"plugins chek x", `unknown command "chek"; did you mean check?`},
		{"plugins check", "takes one PATH"},
		{"plugins check " + folder + "/bmi-method-god", "there is no plugin \"" + folder + "/bmi-method-god\"; there is " + folder + "/bmi-method-deaf, " + good + "\n"},
		{"plugins check no-such-plugin", "plugins are files called bmi-method-NAME"},
		{"plugins check " + folder, "is a folder; 'bmi plugins list " + folder + "' shows"},
		{"plugins check " + good + " --run (", "bad --run"},
		{"plugins check " + good + " --run Nosuch", `no test is called so; the first are Info, `},
		{"plugins check " + good + " --address here", "it needs {name}"},
		{"plugins check " + good + " --env =x", `bad --env "=x"`},
		{"plugins check " + good + " --method nothing", `the plugin has no method "nothing"; it offers mem`},
		{"plugins list " + folder + "/nowhere", "nowhere: no such file or directory"},
		{"plugins run " + good, "bmi plugins run takes a PATH and, behind --, a command"},
		{"plugins run " + good + " perf mem", "behind --, a command"},
		{"plugins run " + good + " perf mem --size 8", "has no option --size; the command and its options go behind --"},
		{"plugins run " + folder + "/x -- perf mem", "there is no plugin"},
		{"plugins run " + good + " -- prf mem", `unknown command "prf"; did you mean perf?`},
		{"plugins peer x", "takes a PATH and an ADDR"},
	} {
		r := bmiRun(t, strings.Fields(tc[0])...)
		assert.Equal(t, ExitUsage, r.code, "%s: %s", tc[0], r.err.String())
		assert.Contains(t, r.err.String(), tc[1], tc[0])
		assert.Empty(t, r.out.String(), tc[0])
	}
}

func TestPluginsList(t *testing.T) {
	folder := pluginFolder(t, "good", "deaf")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "bmi-method-text"), []byte("hello"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "no-method"), nil, 0o755))

	r := bmiRun(t, "plugins", "list", folder)
	require.Equal(t, ExitOK, r.code, r.err.String())
	for _, want := range []string{
		`plugin +good\npath +` + folder + `/bmi-method-good\nversion .*\nmethods +mem\nmessages +through rings`,
		`plugin +deaf\n`, `refused .*bmi-method-text.*execut`,
	} {
		assert.Regexp(t, want, r.out.String())
	}
	assert.NotContains(t, r.out.String(), "no-method")

	t.Setenv(pluginsVariable, ":"+folder+":/no/such/folder")
	r = bmiRun(t, "plugins", "list", "--json")
	require.Equal(t, ExitOK, r.code, r.err.String())
	byName := map[string]pluginInfo{}
	for line := range strings.Lines(r.out.String()) {
		var i pluginInfo
		require.NoError(t, json.Unmarshal([]byte(line), &i), line)
		byName[i.Name] = i
	}
	assert.Equal(t, []string{"deaf"}, byName["deaf"].Methods)
	assert.EqualValues(t, "rings", byName["good"].Data)
	assert.Empty(t, byName["good"].Error)
	assert.Equal(t, pluginInfo{Path: "/no/such/folder", Error: "there is no such file or folder"}, byName[""])

	// Without arguments it looks beside the program.
	t.Setenv(pluginsVariable, "")
	r = bmiRun(t, "plugins", "list")
	require.Equal(t, ExitOK, r.code, r.err.String())
	assert.Contains(t, r.out.String(), "There is no plugin (no file bmi-method-*) in "+filepath.Dir(os.Args[0]))
}

func TestPluginsCheck(t *testing.T) {
	folder := pluginFolder(t, "good", "deaf", "terse")
	good := filepath.Join(folder, "bmi-method-good")
	r := bmiRun(t, "plugins", "check", good, "--basic", "--run", "^(Info|SendRecv|MatchTags|NameTaken)$")
	require.Equal(t, ExitOK, r.code, "%s\n%s", r.out.String(), r.err.String())
	for _, want := range []string{
		`(?m)^methods +mem$`, `(?m)^method +mem$`, `(?m)^endpoints at mem://{name}$`, `(?m)^  ok +SendRecv +\d`,
		`mem: 3 ok, 0 skipped, 0 failed`,
	} {
		assert.Regexp(t, want, r.out.String())
	}

	// The hook that this test needs cannot be had through a plugin.
	r = bmiRun(t, "plugins", "check", good, "--run", "^CrashSparesOthers$")
	require.Equal(t, ExitOK, r.code, "%s\n%s", r.out.String(), r.err.String())
	assert.Contains(t, r.out.String(), "no Crash hook\nmem: 0 ok, 1 skipped, 0 failed")

	// A method in memory cannot reach another process.
	r = bmiRun(t, "plugins", "check", good, "--one-process", "--run", "^ForkEcho$")
	require.Equal(t, ExitOK, r.code, "%s\n%s", r.out.String(), r.err.String())
	assert.Contains(t, r.out.String(), "no Fork hook\nmem: 0 ok, 1 skipped, 0 failed")

	r = bmiRun(t, "plugins", "check", filepath.Join(folder, "bmi-method-terse"), "--run", "^(Info|SendRecv)$")
	assert.Equal(t, ExitFailed, r.code, r.err.String())
	assert.Regexp(t, `(?m)^  FAIL +Info\s*\n( +.*\n)+ +Messages: +a line for people`, r.out.String())
	assert.Contains(t, r.out.String(), "mem: 1 ok, 0 skipped, 1 failed")
	assert.Contains(t, r.err.String(), "the plugin terse does not pass: mem")

	r = bmiRun(t, "plugins", "check", filepath.Join(folder, "bmi-method-deaf"))
	assert.Equal(t, ExitFailed, r.code, r.err.String())
	assert.Regexp(t, `FAIL: .*deaf: nobody is here\nIt cannot be opened; --env `, r.out.String(), r.err.String())

	r = bmiRun(t, "plugins", "check", good, "--sha256", strings.Repeat("0", 64))
	assert.Equal(t, ExitFailed, r.code)
	assert.Contains(t, r.err.String(), "SHA-256")
}

// TestCommandsLoadThePluginsOfTheEnvironment in a process of their own, for they are
// loaded once in each.
func TestCommandsLoadThePluginsOfTheEnvironment(t *testing.T) {
	folder := pluginFolder(t, "good", "deaf")
	for _, tc := range []struct{ args, out, err string }{
		{"info deaf", `unusable .*deaf: nobody is here`, `is not loaded.*plugin good.*mem`},
		{"version", `^bmi `, `^$`},
		{"serve nothing://x", `^$`, `unknown method "nothing"; available: deaf, mem`},
	} {
		cmd := exec.Command("/proc/self/exe", strings.Fields(tc.args)...)
		cmd.Env = append(os.Environ(), pluginsVariable+"="+folder)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		assert.Regexp(t, tc.out, out.String(), "%s: %s", tc.args, errs.String())
		assert.Regexp(t, tc.err, errs.String(), tc.args)
	}
}

// TestPluginsRun: the method is the plugin's, on both sides, and afterwards the
// program's own again.
func TestPluginsRun(t *testing.T) {
	folder := pluginFolder(t, "good")
	before := bmi.Drivers()
	r := bmiRun(t, "plugins", "run", filepath.Join(folder, "bmi-method-good"), "--", "info", "mem", "--json")
	require.Equal(t, ExitOK, r.code, r.err.String())
	var info methodInfo
	require.NoError(t, json.Unmarshal([]byte(r.out.String()), &info))
	assert.Equal(t, "mem", info.Method)
	assert.Empty(t, info.Error)
	assert.Equal(t, before, bmi.Drivers())

	r = bmiRun(t, "plugins", "run", filepath.Join(folder, "bmi-method-good"), "--", "ping", "mem://nobody", "--count", "1")
	assert.Equal(t, ExitNobody, r.code, r.err.String())
}

func TestTheOtherSideRunsThePluginToo(t *testing.T) {
	f := pluginFlags{env: []string{"A=b c", "D"}, sha256: "00", noRings: true, plaintext: true}
	var got pluginFlags
	cmd := &cobra.Command{Use: "run"}
	got.register(cmd)
	require.NoError(t, cmd.ParseFlags(f.args()))
	assert.Equal(t, f, got)
}

func TestTemplatesOfAddresses(t *testing.T) {
	assert.Equal(t, "x://mt-1", fillTemplate("x://{name}", "mt-1"))
	one, two := fillTemplate("x://{ip}:{port}/{name}", "one"), fillTemplate("x://{ip}:{port}/{name}", "two")
	assert.Regexp(t, `^x://127\.\d+\.\d+\.\d+:[12]\d{4}/one$`, one)
	assert.NotEqual(t, strings.TrimSuffix(one, "one"), strings.TrimSuffix(two, "two"))
	assert.Equal(t, one, fillTemplate("x://{ip}:{port}/{name}", "one"), "the same in every process")
}

// TestTrials: how tests of the suite end outside go test.
func TestTrials(t *testing.T) {
	ctx := context.Background()
	nothing := func(methodtest.T) *methodtest.Subject { return nil }
	var order []string
	for name, tc := range map[string]struct {
		run  func(t methodtest.T, s *methodtest.Subject)
		want string
		text string
	}{
		"passes": {func(methodtest.T, *methodtest.Subject) {}, testPassed, "  ok    passes .* s$"},
		"fails": {func(t methodtest.T, _ *methodtest.Subject) {
			t.Errorf("one\n  two\n")
			t.FailNow()
			t.Errorf("three")
		}, testFailed, "^  FAIL  fails\n +one\n +two$"},
		"skips": {func(t methodtest.T, _ *methodtest.Subject) { t.Skipf("no %s\n here", "fork") }, testSkipped, "  skip  skips +no fork here$"},
		"fails at its end": {func(t methodtest.T, _ *methodtest.Subject) {
			t.Cleanup(func() { order = append(order, "first") })
			t.Cleanup(func() { require.Fail(t, "not closed") })
			t.Cleanup(func() { t.Cleanup(func() { order = append(order, "last") }) })
		}, testFailed, "not closed"},
	} {
		v, err := try(ctx, methodtest.Test{Name: name, Func: tc.run}, nothing)
		require.NoError(t, err)
		assert.Equal(t, tc.want, v.outcome, name)
		assert.Regexp(t, tc.text, v.String(), name)
	}
	assert.Equal(t, []string{"last", "first"}, order)
}

// TestTrialsEndWithTheCommand: an interrupted command does not wait for a test that
// hangs.
func TestTrialsEndWithTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	release := make(chan struct{})
	defer close(release)
	hangs := methodtest.Test{Name: "hangs", Func: func(methodtest.T, *methodtest.Subject) {
		cancel()
		<-release
	}}
	_, err := try(ctx, hangs, func(methodtest.T) *methodtest.Subject { return nil })
	assert.ErrorIs(t, err, context.Canceled)
}

func TestPartsOfErrors(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	assert.Empty(t, parts(nil))
	assert.Equal(t, []error{a}, parts(a))
	assert.Equal(t, []error{a, b}, parts(errors.Join(a, b)))
	wrapped := fmt.Errorf("c: %w", a)
	assert.Equal(t, []error{wrapped}, parts(wrapped))
}
