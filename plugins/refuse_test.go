package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/plugins/process"
	"github.com/viaduct-hpc/viaduct/internal/plugins/trust"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// script makes an executable script in a folder of its own.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), plugins.Prefix+"script")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	return path
}

// TestRefused: a file that may not be loaded is refused, and the error says what to do.
func TestRefused(t *testing.T) {
	itself := func(t *testing.T) string { return self(t) }
	good := func(t *testing.T) string { return script(t, "exit 7") }
	for name, c := range map[string]struct {
		path    func(t *testing.T) string
		options func(o *plugins.Options)
		is      error
		texts   []string
		not     string
	}{
		"not there": {
			path: func(t *testing.T) string { return filepath.Join(t.TempDir(), "bmi-method-none") },
			is:   trust.ErrMissing, texts: []string{"bmi-method-none", "no such file"},
		},
		"a folder": {
			path: func(t *testing.T) string { return t.TempDir() },
			is:   trust.ErrNotAFile, texts: []string{"a folder: name a file in it"},
		},
		"not executable": {
			path: func(t *testing.T) string { p := good(t); require.NoError(t, os.Chmod(p, 0o600)); return p },
			is:   trust.ErrNotExecutable, texts: []string{"chmod +x"},
		},
		"a file that all can write": {
			path: func(t *testing.T) string { p := good(t); require.NoError(t, os.Chmod(p, 0o707)); return p },
			is:   trust.ErrWritable, texts: []string{"chmod o-w"},
		},
		"a folder that all can write": {
			path: func(t *testing.T) string {
				p := good(t)
				require.NoError(t, os.Chmod(filepath.Dir(p), 0o777))
				return p
			},
			is: trust.ErrWritable, texts: []string{"chmod o-w"},
		},
		"of another user": {
			path: func(t *testing.T) string {
				p := good(t)
				need.AsRoot(t)
				require.NoError(t, os.Chown(p, 12345, -1))
				return p
			},
			is: trust.ErrOwner, texts: []string{"12345"},
		},
		"no checksum": {
			path: good, options: func(o *plugins.Options) { o.SHA256 = "1234" },
			is: trust.ErrChecksum, texts: []string{"sha256sum"},
		},
		"wrong checksum": {
			path: good, options: func(o *plugins.Options) { o.SHA256 = strings.Repeat("ab", 32) },
			is: process.ErrChecksum, texts: []string{"sha256sum"},
		},
		"no plugin": {path: good, is: process.ErrNotAPlugin, texts: []string{"exit status 7"}},
		"another version": {
			path: func(t *testing.T) string { return script(t, "echo '1|99|unix|/nowhere|grpc|'; sleep 60") },
			is:   process.ErrProtocolVersion, texts: []string{"99"},
		},
		"name taken": {
			path: itself, options: func(o *plugins.Options) { o.Names = nil },
			is:    bmi.ErrNameTaken,
			texts: []string{"offers method mem, which this program has of its own: ", "another name (Options.Names)", "in its place (Options.Replace)"},
			not:   "running process",
		},
		"a name that it has not": {
			path: itself, options: func(o *plugins.Options) { o.Names = map[string]string{"tcp": "x"} },
			texts: []string{`plugin test has no method "tcp" to give another name, it offers mem`},
		},
		"no name": {
			path: itself, options: func(o *plugins.Options) { o.Names = map[string]string{"mem": "a b"} },
			texts: []string{`plugin test cannot have its method mem registered as "a b": that is not a valid name`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := options("mem")
			if c.options != nil {
				c.options(&o)
			}
			before := len(bmi.Drivers())
			p, err := plugins.Load(t.Context(), c.path(t), o)
			require.Nil(t, p)
			require.ErrorIs(t, err, plugins.ErrRefused)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			for _, text := range append(c.texts, "plugins: cannot load: plugin test") {
				require.ErrorContains(t, err, text)
			}
			if c.not != "" {
				require.NotContains(t, err.Error(), c.not)
			}
			require.Len(t, bmi.Drivers(), before)
			require.Empty(t, plugins.Loaded())
		})
	}
}

// silent is a StartTimeout for plugins that do not answer. Any value is long enough once they run.
const silent = 100 * time.Millisecond

// TestSilentAboutItself: the error of a plugin that does not answer Describe says what happened to
// the process.
func TestSilentAboutItself(t *testing.T) {
	t.Parallel()
	t.Run("panics", func(t *testing.T) {
		o, _ := apart(t, "liar")
		tell(&o, "panics")
		_, err := plugins.Load(t.Context(), self(t), o)
		require.EqualError(t, err, fmt.Sprintf("plugins: cannot load: plugin %s does not say what it offers: "+
			"it ended: exit status 2: panic: a liar", o.Name))
	})
	for _, lie := range []string{"hangs", "cancels", "gives up"} {
		t.Run(lie, func(t *testing.T) {
			o, _ := apart(t, "liar")
			tell(&o, lie)
			o.StartTimeout = silent
			plugins.Patient(&o, patience)
			_, err := plugins.Load(t.Context(), self(t), o)
			require.EqualError(t, err, fmt.Sprintf("plugins: cannot load: plugin %s does not say what it offers: "+
				"it did not answer within %v (Options.StartTimeout): context deadline exceeded", o.Name, silent))
			require.ErrorIs(t, err, plugins.ErrRefused)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

// TestSlowDeath: the reason for killing a process is known before it is dead.
func TestSlowDeath(t *testing.T) {
	err := plugins.Dying(errors.New("plugin test was killed because it hung"), context.DeadlineExceeded)
	require.EqualError(t, err, "plugins: plugin test was killed because it hung")
	require.ErrorIs(t, err, plugins.ErrDied)
	require.EqualError(t, plugins.Dying(nil, context.DeadlineExceeded), "plugins: plugin test does not answer any more: context deadline exceeded")
}

// TestGivesUpFirst: a plugin counts as hanging even if its gRPC is the first to notice the deadline
// of a call.
func TestGivesUpFirst(t *testing.T) {
	t.Parallel()
	for lie, text := range map[string]string{
		"gives up on a question": "was killed because it hung: it did not answer a request to resolve an address within ",
		"gives up on a ping":     "was killed because it hung: it gave no sign of life within ",
	} {
		t.Run(lie, func(t *testing.T) {
			o, far := apart(t, "liar")
			tell(&o, lie)
			o.HangTimeout, o.RestartLimit = hang, -1
			text := "plugin " + o.Name + " " + text + hang.String()
			p := load(t, o)
			ep, err := bmi.Open(t.Context(), bmi.Config{Methods: []string{far}})
			require.NoError(t, err)
			defer func() { require.NoError(t, ep.Close()) }()
			if lie == "gives up on a question" {
				_, err := ep.Lookup(far + "://x")
				require.ErrorIs(t, err, plugins.ErrDied)
				require.ErrorContains(t, err, text)
			}
			eventually(t, "it is killed", func() bool { return p.State() == plugins.Dead })
			require.ErrorContains(t, p.Err(), text)
		})
	}
}

// TestOptionsThatCannotBe: the error names the invalid option.
func TestOptionsThatCannotBe(t *testing.T) {
	_, err := plugins.Load(t.Context(), self(t), plugins.Options{Name: "test", RingBytes: 1 << 40})
	require.ErrorIs(t, err, bmi.ErrInvalid)
	require.ErrorContains(t, err, "RingBytes")
	_, err = plugins.Load(t.Context(), self(t), plugins.Options{Name: "test", ArenaBytes: 1 << 50})
	require.ErrorContains(t, err, "ArenaBytes")
}

// TestShortestRings: if the method's messages do not fit in the rings, the error of Open says so.
func TestShortestRings(t *testing.T) {
	o := options("mem")
	o.RingBytes = 1
	load(t, o)
	_, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{"far://alice"}})
	require.ErrorContains(t, err, "rings with records of 16376 bytes")
}

// TestSideBySide: two plugins that offer the same method are two methods, and a failure of one does
// not affect the other.
func TestSideBySide(t *testing.T) {
	one, two := options("mem"), options("mem")
	one.Name, one.Names = "one", map[string]string{bmitest.Name: "mem-1"}
	two.Name, two.Names = "two", map[string]string{bmitest.Name: "mem-2"}
	p, q := load(t, one), load(t, two)
	require.True(t, slices.Equal([]*plugins.Plugin{p, q}, plugins.Loaded()))
	_, err := plugins.Load(t.Context(), self(t), one)
	require.ErrorIs(t, err, bmi.ErrNameTaken)
	require.ErrorContains(t, err, "offers method mem-1, which plugin one ("+p.Path()+") has loaded already: ")
	a, b := open(t, "mem-1"), open(t, "mem-1")
	c, d := open(t, "mem-2"), open(t, "mem-2")
	talk(t, a, b, 100)
	talk(t, c, d, 100)
	_, err = c.Lookup(a.Addresses()[0])
	require.NoError(t, err)

	under, err := c.ctx.PostRecv(c.to(d), 5, make([]byte, 8), nil)
	require.NoError(t, err)
	ops := a.posted(a.to(b), 1)
	kill(t, p, 9)
	a.requireDied(ops, "plugin one ended")
	require.NoError(t, d.wait(d.ctx.PostSend(d.to(c), 5, []byte("12345678"), nil)).Err)
	require.NoError(t, c.wait(under, nil).Err)
	assert.Zero(t, q.Restarts())
	assert.Equal(t, "plugin two", fmt.Sprintf("plugin %s", q.Name()))
}

// TestNamesOfAddresses: addresses have the name that the method is registered under.
func TestNamesOfAddresses(t *testing.T) {
	load(t, options("mem"))
	a, b := openAt(t, "far://alice"), openAt(t, "far://bob")
	require.Equal(t, []string{"far://alice"}, a.Addresses())
	require.Equal(t, "far://bob", a.to(b).String())
	require.NoError(t, a.wait(a.ctx.PostSendUnexpected(a.to(b), 3, 9, []byte("hello"), nil)).Err)
	m := b.unexpected()
	require.Equal(t, "far://alice", m.From.String(), "of an endpoint that was heard from first")
	require.Equal(t, a.Addresses()[0], m.From.String())
	in, err := a.QueryAddrRange(a.to(b), "far://b*")
	require.NoError(t, err)
	require.True(t, in)
	for _, peer := range a.Stats().Peers {
		require.True(t, strings.HasPrefix(peer.Addr, "far://"), peer.Addr)
		require.Equal(t, far, peer.Method)
	}
	require.NotEmpty(t, a.Stats().Peers)
	own := a.Stats().Methods[0].Own
	require.Len(t, own, 5, "of the loop in the plugin's process")
	require.Equal(t, "loop.turns", own[0].Name)
	require.Positive(t, own[0].Values[0])
	_, err = a.Lookup("far://" + strings.Repeat("x", 1<<16))
	require.ErrorIs(t, err, bmi.ErrBadAddress)
	_, err = bmi.Open(t.Context(), bmi.Config{Listen: []string{"far://bob"}})
	require.ErrorIs(t, err, bmi.ErrNameTaken)
}

// TestStates: states have names, and an invalid one shows its number.
func TestStates(t *testing.T) {
	require.Equal(t, "running restarting dead unloaded State(4)",
		fmt.Sprint(plugins.Running, " ", plugins.Restarting, " ", plugins.Dead, " ", plugins.Unloaded, " ", plugins.State(4)))
}

// TestReplace: a plugin can replace a method, which is restored by Unload.
func TestReplace(t *testing.T) {
	carried := driverOf(bmitest.Name)
	o := options("mem")
	o.Names, o.Replace = nil, true
	one, err := plugins.Load(t.Context(), self(t), o)
	require.NoError(t, err)
	first := driverOf(bmitest.Name)
	require.True(t, carried != first)
	a, b := open(t, bmitest.Name), open(t, bmitest.Name)
	talk(t, a, b, 10)
	two, err := plugins.Load(t.Context(), self(t), o)
	require.NoError(t, err)
	require.True(t, first != driverOf(bmitest.Name))

	require.NoError(t, one.Unload(t.Context()), "not the last one")
	require.True(t, first != driverOf(bmitest.Name))
	require.True(t, carried != driverOf(bmitest.Name))
	require.NoError(t, two.Unload(t.Context()))
	require.True(t, carried == driverOf(bmitest.Name))
}
