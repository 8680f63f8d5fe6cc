package plugins_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/plugins/trust"
	"github.com/viaduct-hpc/viaduct/plugins"
)

func init() {
	roles["other"] = func() { plugins.Serve(renamed{driverOf(bmitest.Name), "other"}) }
}

// renamed is a driver with another name.
type renamed struct {
	bmi.Driver
	name string
}

func (r renamed) Name() string { return r.name }

// folder makes a folder with the test binary under several names.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		require.NoError(t, os.Symlink(self(t), filepath.Join(dir, name)))
	}
	return dir
}

// TestDiscover: the plugins of a folder are found by name; for those that may not be loaded, the
// error says what to do.
func TestDiscover(t *testing.T) {
	dir := folder(t, "bmi-method-b", "bmi-method-a", "something")
	bad := filepath.Join(dir, "bmi-method-c")
	require.NoError(t, os.WriteFile(bad, nil, 0o600))
	paths, err := plugins.Discover(dir)
	require.Equal(t, []string{filepath.Join(dir, "bmi-method-a"), filepath.Join(dir, "bmi-method-b")}, paths)
	require.ErrorIs(t, err, trust.ErrNotExecutable)
	require.ErrorContains(t, err, "chmod +x "+bad)
	require.NoError(t, os.Remove(bad))
	_, err = plugins.Discover(dir)
	require.NoError(t, err)
	_, err = plugins.Discover(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// unloadAll unloads the plugins that bmi.Open loaded.
func unloadAll(t *testing.T) {
	for _, p := range plugins.Loaded() {
		require.NoError(t, p.Unload(t.Context()))
	}
}

// TestOpenLoads: bmi.Open loads the given plugins, files and folders, once.
func TestOpenLoads(t *testing.T) {
	defer unloadAll(t)
	t.Setenv(roleEnv, "other")
	t.Setenv(plugins.PassEnv, "HOME, "+roleEnv)
	cfg := bmi.Config{Methods: []string{"other"}, Plugins: []string{folder(t, "bmi-method-other"), self(t)}}
	for range 2 {
		ep, err := bmi.Open(t.Context(), cfg)
		require.NoError(t, err)
		require.NoError(t, ep.Close())
	}
	require.Len(t, plugins.Loaded(), 1)
	require.Equal(t, "other", plugins.Loaded()[0].Name())
	require.Equal(t, []string{"other"}, plugins.Loaded()[0].Methods())

	cfg.Plugins = []string{"/nowhere/bmi-method-x"}
	_, err := bmi.Open(t.Context(), cfg)
	require.ErrorIs(t, err, plugins.ErrRefused)
	require.ErrorIs(t, err, trust.ErrMissing)
	cfg.Plugins = []string{folder(t)}
	_, err = bmi.Open(t.Context(), cfg)
	require.ErrorIs(t, err, plugins.ErrRefused)
	require.ErrorContains(t, err, "there is no plugin in "+cfg.Plugins[0]+", their names begin with bmi-method-")
}

// TestReplacedFile: a running plugin stays the plugin of its path, even if the file changes: an
// update does not keep a program from opening another endpoint.
func TestReplacedFile(t *testing.T) {
	defer unloadAll(t)
	t.Setenv(roleEnv, "other")
	t.Setenv(plugins.PassEnv, roleEnv)
	path := filepath.Join(t.TempDir(), "bmi-method-other")
	program, err := os.ReadFile(self(t))
	require.NoError(t, err)
	install := func() {
		require.NoError(t, os.WriteFile(path+".new", program, 0o700))
		require.NoError(t, os.Rename(path+".new", path))
	}
	cfg := bmi.Config{Methods: []string{"other"}, Plugins: []string{path}}
	for _, change := range []func(){install, install, func() { require.NoError(t, os.Remove(path)) }} {
		change()
		ep, err := bmi.Open(t.Context(), cfg)
		require.NoError(t, err)
		require.NoError(t, ep.Close())
	}
	require.Len(t, plugins.Loaded(), 1)
}

// TestVariableOutlivesItsProgram: a restarted plugin has the variables that the program had when it
// loaded the plugin.
func TestVariableOutlivesItsProgram(t *testing.T) {
	const name = "VIADUCT_PLUGIN_SECRET"
	t.Setenv(name, "x")
	o := options("mem")
	o.Env = append(o.Env, name)
	p := load(t, o)
	require.NoError(t, os.Unsetenv(name))
	kill(t, p, syscall.SIGKILL)
	eventually(t, "it runs again", func() bool { return p.Restarts() == 1 && p.State() == plugins.Running })
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID()))
	require.NoError(t, err)
	assert.Contains(t, strings.Split(string(env), "\x00"), name+"=x")
}

// TestEnvironmentLoads: bmi.Open also loads the plugins of the environment; one that cannot be
// loaded is only logged.
func TestEnvironmentLoads(t *testing.T) {
	defer unloadAll(t)
	plugins.ForgetEnvironment()
	t.Setenv(roleEnv, "other")
	t.Setenv(plugins.PassEnv, roleEnv)
	dir := folder(t, "bmi-method-other")
	for _, name := range []string{"bmi-method-y", "bmi-method-z"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	t.Setenv(plugins.PathsEnv, "/nowhere/bmi-method-x::"+dir)
	var lines logtext.Buffer
	ep, err := bmi.Open(t.Context(), bmi.Config{Methods: []string{"other"}, Log: slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelError}))})
	require.NoError(t, err)
	require.NoError(t, ep.Close())
	assert.Equal(t, 3, strings.Count(lines.String(), "a plugin of BMI_PLUGINS is not loaded"), "each has its line:\n%s", &lines)
	assert.Contains(t, lines.String(), "/nowhere: no such file")
	assert.NotContains(t, lines.String(), `\n`)
	unloadAll(t)
	_, err = bmi.Open(t.Context(), bmi.Config{Methods: []string{"other"}})
	require.ErrorIs(t, err, bmi.ErrUnknownMethod, "they are loaded once")
}
