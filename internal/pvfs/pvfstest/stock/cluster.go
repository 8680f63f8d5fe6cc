package stock

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

const (
	// readyTimeMax limits the time until a server listens.
	readyTimeMax = 60 * time.Second
	// readyEvery is the interval between checks for that.
	readyEvery = 5 * time.Millisecond
	// makeTimeMax limits the time in which a server makes its storage.
	makeTimeMax = 60 * time.Second
)

// serverTimeouts replaces the servers' time-outs, in seconds. On a busy machine a server may make no progress for longer. It then
// gives up writes without telling the client, which waits for minutes.
var serverTimeouts = []string{
	"ServerJobBMITimeoutSecs 30\n", "ServerJobBMITimeoutSecs 300\n",
	"ServerJobFlowTimeoutSecs 30\n", "ServerJobFlowTimeoutSecs 300\n",
}

// Options configure a cluster. The zero value is two servers, each for metadata and data.
type Options struct {
	Servers int // 0 is 2
	// Certificates starts servers with certificate-based security.
	Certificates bool
	// Config changes the input for the configuration.
	Config func(*config.GenOptions)
	// Dir is the folder for the stores; "" is a temporary folder of the test.
	Dir string
}

// Cluster is a file system of stock servers.
type Cluster struct {
	Install
	FS *config.Config

	tb      testing.TB
	dir     string
	servers []*server
}

// server is one server, running or not.
type server struct {
	alias string
	port  int
	log   string
	run   *Process // nil: it is stopped
}

// Start makes a file system and starts its servers, which stop with the test. It skips the test without an installation of
// OrangeFS.
func Start(tb testing.TB, opts Options) *Cluster {
	tb.Helper()
	need := Need
	if opts.Certificates {
		need = NeedCertificates
	}
	c := &Cluster{Install: need(tb), tb: tb, dir: opts.Dir}
	if opts.Servers == 0 {
		opts.Servers = 2
	}
	if c.dir == "" {
		c.dir = tb.TempDir()
	}
	for i := range opts.Servers {
		alias := aliasOf(i)
		c.servers = append(c.servers, &server{alias: alias, port: freeport.TCP(tb), log: c.path("log-" + alias)})
	}
	c.configure(opts)
	var makers []*Process
	for _, s := range c.servers {
		makers = append(makers, c.Install.Start(tb, nil, "pvfs2-server", c.ConfigFile(), "-f", "-a", s.alias))
	}
	for i, p := range makers {
		if said, status := p.Wait(tb, makeTimeMax); status != 0 {
			tb.Fatalf("stock: making the storage of server %d ends with status %d: %s", i, status, said)
		}
	}
	tb.Cleanup(c.logs)
	for i := range c.servers {
		c.launch(i)
	}
	for i := range c.servers {
		c.ready(i)
	}
	c.rooted()
	return c
}

// serversMax is the largest number of servers in a cluster.
const serversMax = 16

func aliasOf(server int) string { return fmt.Sprintf("server%d", server) }

// configure writes the configuration.
func (c *Cluster) configure(opts Options) {
	c.tb.Helper()
	gen := config.GenOptions{DataDir: c.path("data"), MetaDir: c.path("meta"), LogFile: c.path("log"), NoSyncMeta: true}
	for i, s := range c.servers {
		gen.Servers = append(gen.Servers, config.GenServer{Alias: s.alias, Address: c.Address(i)})
	}
	c.Configure(&gen)
	if opts.Config != nil {
		opts.Config(&gen)
	}
	text, err := config.Generate(gen)
	c.check("generate a configuration", err)
	text = strings.NewReplacer(serverTimeouts...).Replace(text)
	c.FS, err = config.Parse(text)
	c.check("parse the configuration", err)
	c.check("write the configuration", os.WriteFile(c.ConfigFile(), []byte(text), 0o600))
}

// launch starts a server.
func (c *Cluster) launch(i int) {
	c.tb.Helper()
	s := c.servers[i]
	s.run = c.Install.Start(c.tb, nil, "pvfs2-server", c.ConfigFile(), "-d", "-a", s.alias)
}

// ready waits until a server listens.
func (c *Cluster) ready(i int) {
	c.tb.Helper()
	s := c.servers[i]
	for deadline := time.Now().Add(readyTimeMax); ; time.Sleep(readyEvery) {
		ok, err := listening(s.port)
		c.check("look for listeners", err)
		switch {
		case ok:
			return
		case s.run.Ended():
			c.tb.Fatalf("stock: server %d ended before it listened: %s", i, s.run.out.tail())
		case time.Now().After(deadline):
			c.tb.Fatalf("stock: server %d does not listen on port %d after %v", i, s.port, readyTimeMax)
		}
	}
}

// rooted waits until the root directory exists. A server makes it after all servers listen.
func (c *Cluster) rooted() {
	c.tb.Helper()
	tools := c.Tools(c.tb, c.Source())
	for deadline := time.Now().Add(readyTimeMax); ; time.Sleep(readyEvery) {
		r := tools.Run(c.tb, "pvfs2-stat", Path("/"))
		if r.Status == 0 {
			return
		}
		if time.Now().After(deadline) {
			c.tb.Fatalf("stock: no root directory after %v: %s", readyTimeMax, r.Out)
		}
	}
}

// Kill ends a server as a crash does.
func (c *Cluster) Kill(i int) {
	c.servers[i].run.Kill()
}

// Restart starts a killed server with its storage, at the same address.
func (c *Cluster) Restart(i int) {
	c.tb.Helper()
	c.launch(i)
	c.ready(i)
}

// Process is the last started process of a server.
func (c *Cluster) Process(i int) *Process { return c.servers[i].run }

// Len is the number of servers.
func (c *Cluster) Len() int { return len(c.servers) }

// Alias is the alias of a server in the configuration.
func (c *Cluster) Alias(i int) string { return c.servers[i].alias }

// Address is the address of a server.
func (c *Cluster) Address(i int) string { return fmt.Sprintf("tcp://127.0.0.1:%d", c.servers[i].port) }

// Source is the source for a client's mount.
func (c *Cluster) Source() string { return c.Address(0) + "/" + c.FS.Name }

// ConfigFile is the path of the configuration.
func (c *Cluster) ConfigFile() string { return c.path("fs.conf") }

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

// logs prints the end of every server's log if the test has failed.
func (c *Cluster) logs() {
	if !c.tb.Failed() {
		return
	}
	for i, s := range c.servers {
		text, err := os.ReadFile(s.log)
		c.tb.Logf("the end of the log of server %d (%v):\n%s", i, err, tail(string(text)))
	}
}

// check fails the test at an error.
func (c *Cluster) check(what string, err error) {
	c.tb.Helper()
	must(c.tb, what, err)
}
