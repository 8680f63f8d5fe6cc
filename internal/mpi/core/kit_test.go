package core_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
)

// limit is how long a test waits for something that must happen.
const limit = wallclock.Patience

// methods are the methods that the tests of this package run over, each with an address for a rank.
var methods = map[string]func(rank int) string{
	"via+shm": func(rank int) string {
		return fmt.Sprintf("via+shm://core-test-%d-%d-%d", os.Getpid(), worlds.Load(), rank)
	},
	"tcp": func(int) string { return "tcp://127.0.0.1:0" },
}

var worlds atomic.Int64

// A node is one process of a test.
type node struct {
	t    testing.TB
	ep   *bmi.Endpoint
	e    *core.Engine
	card core.Card
	s    *core.Scope // context 2, of all nodes
	all  []*core.Proc
	once sync.Once
}

// open opens n processes that know each other.
func open(t testing.TB, n int, method string, limits core.Limits) []*node {
	t.Helper()
	worlds.Add(1)
	var nodes []*node
	for rank := range n {
		ep, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{methods[method](rank)}})
		require.NoError(t, err)
		d := &node{t: t, ep: ep, card: core.Card{ID: core.ProcID{byte(rank + 1)}, Host: "here", Addresses: ep.Addresses()}}
		d.e, err = core.New(core.Config{Endpoint: ep, Self: d.card, Limits: limits})
		require.NoError(t, err)
		nodes = append(nodes, d)
	}
	t.Cleanup(func() {
		for _, d := range nodes {
			d.close()
		}
	})
	for rank, d := range nodes {
		for _, other := range nodes {
			p, err := d.e.Proc(other.card)
			require.NoError(t, err)
			d.all = append(d.all, p)
		}
		d.s = d.scope(2, rank, d.all)
	}
	return nodes
}

func (d *node) scope(id core.ContextID, rank int, peers []*core.Proc) *core.Scope {
	s, err := d.e.OpenScope(id, rank, peers)
	require.NoError(d.t, err)
	return s
}

// close leaves in good order.
func (d *node) close() {
	d.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		assert.NoError(d.t, d.e.Close(ctx))
		assert.NoError(d.t, d.ep.Close())
	})
}

// kill ends a process without a BYE, as if it had died.
func (d *node) kill() {
	d.once.Do(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = d.ep.Shutdown(ended)
	})
}

// wait waits for a request, which must end soon.
func (d *node) wait(r core.Request, err error) (core.Status, error) {
	d.t.Helper()
	require.NoError(d.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	st, err := r.Wait(ctx)
	require.NotErrorIs(d.t, err, context.DeadlineExceeded, "it hangs")
	return st, err
}

// mustWait is wait for a request that must succeed.
func (d *node) mustWait(r core.Request, err error) core.Status {
	d.t.Helper()
	st, err := d.wait(r, err)
	require.NoError(d.t, err)
	return st
}

// mem returns memory that is filled differently for every seed.
func mem(n int, seed byte) core.Buffer {
	const period = 1 << 16
	b := make([]byte, n)
	for i := range min(n, period) {
		b[i] = seed + byte(i) + byte(i>>8)
	}
	for filled := period; filled < n; filled *= 2 { // byte by byte would take seconds with the race detector
		copy(b[filled:], b[:filled])
	}
	return core.Buffer{Mem: b}
}

func room(n int) core.Buffer { return core.Buffer{Mem: make([]byte, n)} }

// each runs a test over every method.
func each(t *testing.T, fn func(t *testing.T, method string)) {
	for name := range methods {
		t.Run(name, func(t *testing.T) { fn(t, name) })
	}
}
