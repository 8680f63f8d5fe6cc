package pvfstest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // for servers' addresses
	_ "github.com/viaduct-hpc/viaduct/methods/via" // likewise
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The methods that a cluster may run over.
const (
	Memory = bmitest.Name
	TCP    = "tcp"
	ViaShm = "via+shm"
	// ViaUDP is for tests of its special features. They set VIADUCT_UDP_INSECURE or a key.
	ViaUDP = "via+udp"
	// TCPS is for tests that set certificates or a shared key.
	TCPS = "tcps"
)

// Methods are the methods for tests that run over all methods.
var Methods = []string{Memory, TCP, ViaShm}

// readyWait limits the time for a server to start.
const readyWait = 60 * time.Second

// Options configure a cluster. The zero value is two servers over the in-memory method.
type Options struct {
	Method  string // Memory, TCP, TCPS, ViaShm or ViaUDP; "" is Memory
	Servers int    // 0 is 2
	// Config changes the input for the configuration.
	Config func(*config.GenOptions)
	// Text is a configuration to use instead of a generated one. Only its addresses are replaced.
	Text string
	// Server changes the setup of one server.
	Server func(i int, cfg *server.Config)
	// Store changes the options of one server's store.
	Store func(i int, opts *store.Options)
	// Key signs capabilities; nil is a fixed key of this package. Unsigned leaves them unsigned.
	Key      []byte
	Unsigned bool
	// Dir is the folder for the stores; "" is a temporary folder of the test, in memory unless Sync is set.
	Dir string
	// ClosedRoot leaves the root directory as a server makes it. Otherwise every user may make names in it.
	ClosedRoot bool
	// Sync keeps metadata durable. Without it, tests do not wait for the disk.
	Sync bool
}

// Cluster is a file system whose servers run in this process.
type Cluster struct {
	FS *config.Config // for tests to read; each server has its own copy

	tb       testing.TB
	opts     Options
	dir      string
	nodes    []*node
	original []string // addresses in Options.Text, by server
}

// node is one server, running or not.
type node struct {
	alias, address string
	dir            string        // of its store
	endpoint       *bmi.Endpoint // of the present run, or opened for the next one
	server         *server.Server
	store          *store.Store
	stop           context.CancelFunc // nil: it is stopped
	done           chan error
}

var clusters atomic.Uint64

// Start starts servers, which stop at the end of the test.
func Start(tb testing.TB, opts Options) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb, opts: opts, dir: opts.Dir}
	if c.opts.Method == "" {
		c.opts.Method = Memory
	}
	if c.opts.Servers == 0 {
		c.opts.Servers = 2
	}
	if c.opts.Key == nil && !opts.Unsigned {
		c.opts.Key = []byte("a key for tests and for nothing else")
	}
	if c.dir == "" && c.opts.Sync {
		c.dir = tb.TempDir()
	} else if c.dir == "" {
		c.dir = memory.Dir(tb)
	}
	var aliases []string
	if opts.Text != "" {
		given, err := config.Parse(opts.Text)
		c.check("parse the configuration", err)
		for _, s := range given.Servers {
			aliases, c.original = append(aliases, s.Alias), append(c.original, s.Address)
		}
	} else {
		for i := range c.opts.Servers {
			aliases = append(aliases, fmt.Sprintf("server%d", i))
		}
	}
	tb.Cleanup(c.close)
	number := clusters.Add(1)
	for i, alias := range aliases {
		c.nodes = append(c.nodes, c.listen(alias, number, i))
	}
	c.FS = c.configure()
	for i := range c.nodes {
		c.Start(i)
	}
	c.WaitReady()
	if !opts.ClosedRoot {
		c.openRoot()
	}
	return c
}

// openRoot lets every user make names in the root directory, and its owner be root, as a stock server makes it.
func (c *Cluster) openRoot() {
	for i := range c.nodes {
		c.check("open the root directory", c.Store(i).Update(func(tx *store.Tx) error {
			for o, err := range tx.Objects() {
				if err != nil {
					return err
				}
				if o.Type == proto.TypeDatafile {
					continue
				}
				o.Perms, o.Owner, o.Group = 0o777, 0, 0
				if err := tx.Put(o.Handle, o); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// listen opens the endpoint of a server at an unused address.
func (c *Cluster) listen(alias string, number uint64, i int) *node {
	n := &node{alias: alias, dir: filepath.Join(c.dir, alias)}
	switch c.opts.Method {
	case TCP, TCPS, ViaUDP:
		n.address = c.opts.Method + "://127.0.0.1:0"
	case Memory, ViaShm:
		n.address = fmt.Sprintf("%s://pvfstest-%d-%d-%d", c.opts.Method, os.Getpid(), number, i)
	default:
		c.tb.Fatalf("pvfstest: no method %q", c.opts.Method)
	}
	n.endpoint = c.open(n.address)
	n.address = n.endpoint.Addresses()[0]
	return n
}

// open opens an endpoint.
func (c *Cluster) open(listen ...string) *bmi.Endpoint {
	ctx, cancel := context.WithTimeout(context.Background(), readyWait)
	defer cancel()
	ep, err := bmi.Open(ctx, bmi.Config{Listen: listen})
	c.check("open an endpoint", err)
	return ep
}

// configure makes the configuration with the addresses of the servers.
func (c *Cluster) configure() *config.Config {
	text := c.opts.Text
	if text == "" {
		gen := config.GenOptions{DataDir: "/nowhere/data", MetaDir: "/nowhere/meta", NoSyncMeta: !c.opts.Sync}
		for _, n := range c.nodes {
			gen.Servers = append(gen.Servers, config.GenServer{Alias: n.alias, Address: n.address})
		}
		if c.opts.Config != nil {
			c.opts.Config(&gen)
		}
		var err error
		text, err = config.Generate(gen)
		c.check("generate a configuration", err)
	}
	for i, old := range c.original {
		text = strings.ReplaceAll(text, old, c.nodes[i].address)
	}
	fs, err := config.Parse(text)
	c.check("parse the configuration", err)
	return fs
}

// Original is a text with the addresses of Options.Text instead of those in use.
func (c *Cluster) Original(text string) string {
	for i, old := range c.original {
		text = strings.ReplaceAll(text, c.nodes[i].address, old)
	}
	return text
}

// Start starts a stopped server with its store, at the same address.
func (c *Cluster) Start(i int) {
	c.tb.Helper()
	n := c.nodes[i]
	if n.stop != nil {
		return
	}
	if n.endpoint == nil {
		n.endpoint = c.open(n.address)
	}
	fs, err := config.Parse(c.FS.Text) // each server has its own copy, as if it were a process
	c.check("parse the configuration", err)
	srv := fs.Servers[i]
	opts := store.Options{Meta: srv.Meta, Data: srv.Data, NoSyncMeta: !c.opts.Sync, SyncData: c.opts.Sync && fs.SyncData}
	if c.opts.Store != nil {
		c.opts.Store(i, &opts)
	}
	n.store, err = store.Open(c.Dir(i), opts)
	c.check("open a store", err)
	cfg := server.Config{FS: fs, Alias: n.alias, Store: n.store, Key: c.opts.Key, Seed: uint64(1 + i)}
	if c.opts.Server != nil {
		c.opts.Server(i, &cfg)
	}
	n.server, err = server.New(cfg)
	c.check("make a server", err)
	ctx, stop := context.WithCancel(context.Background())
	n.stop, n.done = stop, make(chan error, 1)
	run, ep, done := n.server, n.endpoint, n.done // the node may have another run by the time this goroutine starts
	go func() { done <- run.Serve(ctx, ep) }()
}

// Reload gives the running servers a changed configuration, as SIGHUP does.
func (c *Cluster) Reload(change func(*config.Config)) {
	c.tb.Helper()
	fs, err := config.Parse(c.FS.Text)
	c.check("parse the configuration", err)
	change(fs)
	for i, n := range c.nodes {
		if n.stop != nil {
			c.check(fmt.Sprintf("reload server %d", i), n.server.Reload(fs, nil))
		}
	}
}

// Stop stops a server, which first finishes the requests under way.
func (c *Cluster) Stop(i int) {
	c.tb.Helper()
	n := c.nodes[i]
	if n.stop == nil {
		return
	}
	n.stop()
	n.stop = nil
	c.check("stop a server", <-n.done)
	c.check("close an endpoint", n.endpoint.Close())
	n.endpoint = nil
	if beyond := n.store.Stats().Beyond; beyond > 0 {
		c.tb.Errorf("pvfstest: server %d used objects that a request had not declared, %d times", i, beyond)
	}
	c.check("close a store", n.store.Close())
}

// Kill ends a server at once. It answers no more requests, not even those in progress. Its store keeps all writes, as if a
// process had been killed.
func (c *Cluster) Kill(i int) { c.kill(i, func(*node) {}) }

// LosePower ends a server as a power loss does. cut makes the remains of its store in another folder, and the next start uses
// them. Nothing uses the store meanwhile.
func (c *Cluster) LosePower(i int, cut func() (dir string)) {
	c.kill(i, func(n *node) { n.dir = cut() })
}

// kill ends a server at once. It calls then before it closes the store.
func (c *Cluster) kill(i int, then func(*node)) {
	c.tb.Helper()
	n := c.nodes[i]
	if n.stop == nil {
		return
	}
	c.check("close an endpoint", n.endpoint.Close())
	n.endpoint = nil
	n.stop()
	n.stop = nil
	<-n.done // the error says that its endpoint was closed
	then(n)
	_ = n.store.Close() // a killed process reports no error here; the next Start may
}

// WaitReady waits until the running servers have finished the work of earlier runs.
func (c *Cluster) WaitReady() {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyWait)
	defer cancel()
	for i, n := range c.nodes {
		if n.stop != nil {
			c.check(fmt.Sprintf("wait for server %d", i), n.server.Ready(ctx))
		}
	}
}

// Dir is the folder of a server's store.
func (c *Cluster) Dir(i int) string { return c.nodes[i].dir }

// Server is a running server.
func (c *Cluster) Server(i int) *server.Server { return c.nodes[i].server }

// Store is the store of a server.
func (c *Cluster) Store(i int) *store.Store { return c.nodes[i].store }

// Address is the address of a server.
func (c *Cluster) Address(i int) string { return c.nodes[i].address }

// Len is the number of servers.
func (c *Cluster) Len() int { return len(c.nodes) }

// Source is the source for a client's mount.
func (c *Cluster) Source() string { return c.nodes[0].address + "/" + c.FS.Name }

// Endpoint opens an endpoint for a client, which is closed at the end of the test.
func (c *Cluster) Endpoint() *bmi.Endpoint {
	c.tb.Helper()
	ep := c.open()
	c.tb.Cleanup(func() { _ = ep.Close() })
	return ep
}

// close stops everything.
func (c *Cluster) close() {
	for i, n := range c.nodes {
		c.Stop(i)
		if n.endpoint != nil {
			_ = n.endpoint.Close()
		}
	}
}

// check fails the test at an error.
func (c *Cluster) check(what string, err error) {
	c.tb.Helper()
	if err != nil {
		c.tb.Fatalf("pvfstest: %s: %v", what, err)
	}
}
