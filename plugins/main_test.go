package plugins_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// roleEnv makes the test binary a plugin.
const roleEnv = "VIADUCT_PLUGIN_ROLE"

// roles are the plugins that the test binary can be.
var roles = map[string]func(){
	"mem": func() { plugins.Serve(driverOf(bmitest.Name)) },
}

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleEnv); ok {
		roles[role]()
		return
	}
	goleak.VerifyTestMain(m)
}

// driverOf returns a registered driver.
func driverOf(name string) bmi.Driver {
	all := bmi.Drivers()
	i := slices.IndexFunc(all, func(d bmi.Driver) bool { return d.Name() == name })
	if i < 0 {
		panic("no driver " + name)
	}
	return all[i]
}

// self is the test binary.
func self(t testing.TB) string {
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// far is the name under which the tests register the in-memory method of a plugin.
const far = "far"

// options returns the options of a plugin in a role that works and registers mem as far.
func options(role string) plugins.Options {
	return plugins.Options{
		Name: "test", Env: []string{roleEnv + "=" + role, "GOCOVERDIR", "GORACE"},
		Names: map[string]string{bmitest.Name: far}, ArenaBytes: 64 << 20,
	}
}

var aparts atomic.Int64

// apart lets a test that mostly waits run in parallel: it has a plugin with its own name, which
// registers mem under its own name, too.
func apart(t *testing.T, role string) (o plugins.Options, scheme string) {
	t.Parallel()
	n := aparts.Add(1)
	o = options(role)
	o.Name, scheme = fmt.Sprintf("test%d", n), fmt.Sprintf("far%d", n)
	o.Names = map[string]string{bmitest.Name: scheme}
	return o, scheme
}

// load loads the test binary as a plugin until the test ends.
func load(t testing.TB, o plugins.Options) *plugins.Plugin {
	t.Helper()
	p, err := plugins.Load(t.Context(), self(t), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Unload(context.Background())) })
	return p
}

// A node is an endpoint with a context.
type node struct {
	*bmi.Endpoint
	ctx *bmi.Context
	t   testing.TB
}

var names atomic.Int64

// fresh returns an address that was not used before.
func fresh(scheme string) string { return fmt.Sprintf("%s://n%d", scheme, names.Add(1)) }

// open opens an endpoint that listens at a fresh address, until the test ends.
func open(t testing.TB, scheme string) *node {
	t.Helper()
	return openAt(t, fresh(scheme))
}

func openAt(t testing.TB, address string) *node {
	t.Helper()
	ep, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{address}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ep.Close()) })
	c, err := ep.OpenContext()
	require.NoError(t, err)
	return &node{ep, c, t}
}

// to returns the address of another node.
func (n *node) to(other *node) bmi.Addr {
	n.t.Helper()
	a, err := n.Lookup(other.Addresses()[0])
	require.NoError(n.t, err)
	return a
}

// patience limits the wait for something that must happen.
const patience = wallclock.Patience

// wait returns how an operation ended.
func (n *node) wait(p bmi.Posted, err error) bmi.Completion {
	n.t.Helper()
	require.NoError(n.t, err)
	if p.Done {
		return bmi.Completion{Size: p.Size}
	}
	c, ok, err := n.ctx.Test(p.Op, patience)
	require.NoError(n.t, err)
	require.True(n.t, ok, "an operation does not end")
	return c
}

// talk sends a message from one node to another and back.
func talk(t testing.TB, a, b *node, size int) {
	t.Helper()
	send(t, a, b, size)
	send(t, b, a, size)
}

func send(t testing.TB, a, b *node, size int) {
	t.Helper()
	message, room := make([]byte, size), make([]byte, size)
	for i := range message {
		message[i] = byte(i * 7)
	}
	recv, err := b.ctx.PostRecv(b.to(a), 7, room, nil)
	got := a.wait(a.ctx.PostSend(a.to(b), 7, message, nil))
	require.NoError(t, got.Err)
	got = b.wait(recv, err)
	require.NoError(t, got.Err)
	require.Equal(t, size, got.Size)
	require.Equal(t, message, room)
}

// unexpected waits for an unexpected message.
func (n *node) unexpected() bmi.Unexpected {
	n.t.Helper()
	var out [1]bmi.Unexpected
	got, err := n.TestUnexpected(out[:], patience)
	require.NoError(n.t, err)
	require.Equal(n.t, 1, got, "no unexpected message comes")
	return out[0]
}
