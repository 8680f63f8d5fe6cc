package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/fault"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// An FS is a view of a mounted file system. A view acts for a user. It has a context for the methods that take none, and may be
// limited to one directory (Below). It implements fs.FS, fs.StatFS, fs.ReadDirFS and fs.ReadLinkFS. Its methods may be called by
// any goroutine.
type FS struct {
	*core
	user *user
	ctx  context.Context // of the methods of io/fs
	// noLinks: names begin at top, and no symbolic link is followed; see Below.
	noLinks bool
	top     proto.Handle
}

// core is what all views of a mount share.
type core struct {
	opt        Options
	host       string
	cfg        *config.Config
	ep         *bmi.Endpoint
	ownEP      bool
	caller     *rpc.Caller
	servers    []server // as in cfg
	meta, data []int    // indices of the servers with metadata, and with datafiles
	retryLimit int
	retryDelay time.Duration
	kinds      []atomic.Int32 // a kind for each server, see kind.go
	strict     atomic.Bool    // the servers want a capability with LISTATTR

	// send is one try of a request to a server. begin is the first half of send, and returns the second.
	send  func(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response) error
	begin func(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response) (wait func() error)

	users users
	table table
	names names

	lender lender

	moving sync.Mutex // held while a directory moves to another directory

	rngMu sync.Mutex
	rng   *rand.Rand

	closing sync.Once
	closed  chan struct{}
}

// Mount finds a file system. The source is "tcp://host:3334/pvfs2-fs", the address of any of its servers and its name; or a line
// of a pvfs2tab; or the path of a pvfs2tab or of an fs.conf.
//
// The configuration comes from the server. It is an error if another server has a different one; servers that do not answer are
// skipped. ctx limits only Mount.
func Mount(ctx context.Context, source string, opt Options) (*FS, error) {
	fsys, err := mount(ctx, source, opt.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("pvfs: cannot mount %s: %w", strings.TrimSpace(source), err)
	}
	return fsys, nil
}

func mount(ctx context.Context, source string, opt Options) (*FS, error) {
	tab, err := parseSource(source)
	if err != nil {
		return nil, err
	}
	ep, own := opt.Endpoint, false
	if ep == nil {
		if ep, err = bmi.Open(ctx, bmi.Config{Methods: opt.Methods, Log: opt.Log}); err != nil {
			return nil, err
		}
		own = true
	}
	c, err := fetchConfig(ctx, ep, tab, opt)
	if err != nil {
		if own {
			_ = ep.Close()
		}
		return nil, err
	}
	c.ownEP = own
	id := opt.User
	if id == nil {
		id = processUser()
	}
	return &FS{core: c, user: c.users.get(*id), ctx: context.Background()}, nil
}

// parseSource parses the source of Mount.
func parseSource(source string) (config.Tab, error) {
	if strings.Contains(source, "://") {
		return config.ParseTab(source)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return config.Tab{}, fmt.Errorf("neither address/name nor a file: %w", err)
	}
	if !strings.Contains(string(text), "<") {
		tabs, err := config.ParseTabFile(string(text))
		if err == nil && len(tabs) != 1 {
			err = fmt.Errorf("%d file systems in this pvfs2tab, give the line of one", len(tabs))
		}
		if err != nil {
			return config.Tab{}, err
		}
		return tabs[0], nil
	}
	cfg, err := config.ParseWith(string(text), config.Options{File: source, Lenient: true})
	if err != nil {
		return config.Tab{}, err
	}
	tab := config.Tab{FS: cfg.Name}
	for _, s := range cfg.Servers {
		tab.Servers = append(tab.Servers, s.Address)
	}
	return tab, nil
}

// fetchConfig gets the configuration from one server and compares it with those of the others.
func fetchConfig(ctx context.Context, ep *bmi.Endpoint, tab config.Tab, opt Options) (*core, error) {
	first := rpc.NewCaller(ep, rpc.Options{Timeout: mountTime})
	defer first.Close()
	text, from, err := firstConfig(ctx, ep, first, tab, opt)
	if err != nil {
		return nil, err
	}
	cfg, err := config.ParseWith(text, config.Options{Lenient: true})
	if err != nil {
		return nil, fmt.Errorf("the configuration of %s: %w", from, err)
	}
	if cfg.Name != tab.FS {
		return nil, fault.Markf(proto.ENOENT, "%s has the file system %s, not %s", from, cfg.Name, tab.FS)
	}
	c, err := newCore(cfg, ep, opt, preferred(opt, from))
	if err != nil {
		return nil, err
	}
	if err := c.compare(ctx, first); err != nil {
		return nil, err
	}
	c.caller = rpc.NewCaller(ep, rpc.Options{
		Timeout: c.opt.Timeout, FlowTimeout: c.opt.FlowTimeout,
		FlowBufferSize: cfg.FlowBufferSize, FlowBuffers: cfg.FlowBuffers,
	})
	return c, nil
}

// firstConfig gets the configuration from the first server that answers. It waits briefly for a server that is just starting: the
// address may also be mistyped.
func firstConfig(ctx context.Context, ep *bmi.Endpoint, caller *rpc.Caller, tab config.Tab, opt Options) (text, from string, err error) {
	begun, delay := time.Now(), mountRepeat
	if opt.RetryDelay != 0 {
		delay = max(opt.RetryDelay, 0)
	}
	for try := 0; ; try++ {
		for _, address := range tab.Servers {
			text, err = getConfig(ctx, ep, caller, address)
			if err == nil {
				return text, address, nil
			}
			if !passing(err) {
				return "", "", err
			}
		}
		enough := time.Since(begun)+delay > mountPatience
		if opt.RetryLimit != 0 {
			enough = try >= opt.RetryLimit
		}
		if enough {
			return "", "", err
		}
		select {
		case <-ctx.Done():
			return "", "", errors.Join(ctx.Err(), err)
		case <-time.After(delay):
		}
	}
}

// getConfig asks one server for the configuration.
func getConfig(ctx context.Context, ep *bmi.Endpoint, caller *rpc.Caller, address string) (string, error) {
	to, err := ep.Lookup(address)
	if err != nil {
		return "", err
	}
	var resp proto.GetConfigResp
	err = caller.Call(ctx, to, nil, &proto.GetConfigReq{}, &resp)
	return resp.Text, err
}

// compare checks that all servers that answer have the configuration. It does not wait long for the others.
func (c *core) compare(ctx context.Context, caller *rpc.Caller) error {
	if len(c.servers) == 1 {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	return all(len(c.servers), func(i int) error {
		var resp proto.GetConfigResp
		err := caller.Call(within, c.servers[i].addr, nil, &proto.GetConfigReq{}, &resp)
		silent := within.Err() != nil && ctx.Err() == nil
		switch {
		case err != nil && (passing(err) || silent):
			c.opt.Log.Warn("pvfs: a server does not answer, its configuration was not compared", "server", c.servers[i].alias, "error", err)
			return nil
		case err != nil:
			return err
		case resp.Text != c.cfg.Text:
			return fmt.Errorf("server %s has another configuration than the rest, give all the same: %w", c.servers[i].alias, proto.EINVAL)
		}
		return nil
	})
}

// newCore makes a mount that can call servers once it has a caller.
func newCore(cfg *config.Config, ep *bmi.Endpoint, opt Options, methods []string) (*core, error) {
	c := &core{
		opt: opt, host: opt.Host, cfg: cfg, ep: ep,
		meta: cfg.MetaServers(), data: cfg.DataServers(),
		rng:    rand.New(rand.NewPCG(opt.Seed, 0)),
		closed: make(chan struct{}),
	}
	if len(c.meta) == 0 || len(c.data) == 0 {
		return nil, fmt.Errorf("the configuration has no server for metadata or none for data: %w", proto.EINVAL)
	}
	if c.host == "" {
		c.host, _ = os.Hostname()
	}
	by := issuer{name: "C:" + c.host, key: opt.Key, log: opt.Log}
	if cfg.Security.CAFile != "" {
		by.certificate = opt.Certificate
	}
	c.users.init(by)
	c.table.init(opt.Objects)
	c.names.init(opt.Names, opt.NameTime)
	c.retryLimit, c.retryDelay = cfg.RetryLimit, cfg.RetryDelay
	if opt.RetryLimit != 0 {
		c.retryLimit = max(opt.RetryLimit, 0)
	}
	if opt.RetryDelay != 0 {
		c.retryDelay = max(opt.RetryDelay, 0)
	}
	if opt.Timeout == 0 {
		c.opt.Timeout = cfg.ClientTimeout
	}
	if opt.FlowTimeout == 0 {
		c.opt.FlowTimeout = cfg.ClientFlowTimeout
	}
	c.kinds = make([]atomic.Int32, len(cfg.Servers))
	for _, s := range cfg.Servers {
		c.servers = append(c.servers, server{alias: s.Alias, address: prefer(s.Addresses(), methods)})
	}
	c.send, c.begin = c.sendBMI, c.beginBMI
	if ep == nil {
		return c, nil
	}
	c.lending()
	for i := range c.servers {
		s := &c.servers[i]
		var err error
		if s.addr, err = ep.Lookup(s.address); err != nil {
			return nil, fmt.Errorf("server %s: %w", s.alias, err)
		}
	}
	return c, nil
}

// sendBMI sends a request with the caller.
func (c *core) sendBMI(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response) error {
	return c.caller.Call(ctx, c.servers[server].addr, h, req, resp)
}

func (c *core) beginBMI(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response) (wait func() error) {
	p := c.caller.Begin(ctx, c.servers[server].addr, h, req, resp)
	return p.Wait
}

// preferred are the methods whose addresses are tried first.
func preferred(opt Options, from string) []string {
	if len(opt.Methods) > 0 {
		return opt.Methods
	}
	method, _, _ := strings.Cut(from, "://")
	return []string{method}
}

// prefer sorts the addresses of some methods to the front, and joins all addresses.
func prefer(addresses, methods []string) string {
	rank := func(address string) int {
		method, _, _ := strings.Cut(address, "://")
		if i := slices.Index(methods, method); i >= 0 {
			return i
		}
		return len(methods)
	}
	sorted := slices.Clone(addresses)
	slices.SortStableFunc(sorted, func(a, b string) int { return rank(a) - rank(b) })
	return strings.Join(sorted, ",")
}

// processUser is the user of this process.
func processUser() *Identity {
	id := &Identity{UID: uint32(os.Geteuid()), Groups: []uint32{uint32(os.Getegid())}}
	groups, _ := os.Getgroups() // without them it has the primary group
	for _, g := range groups {
		if g := uint32(g); !slices.Contains(id.Groups, g) && len(id.Groups) < proto.MaxGroups {
			id.Groups = append(id.Groups, g)
		}
	}
	return id
}

// As returns a view of the same mount for another user.
func (f *FS) As(id Identity) *FS {
	view := *f
	view.user = f.users.get(id)
	return &view
}

// WithContext returns a view of the same mount with ctx for the methods that take no context: those of io/fs, and those of files
// opened by the view.
func (f *FS) WithContext(ctx context.Context) *FS {
	view := *f
	view.ctx = ctx
	return &view
}

// Config is the file system's configuration. Do not change it.
func (f *FS) Config() *config.Config { return f.cfg }

// Name is the name of the file system.
func (f *FS) Name() string { return f.cfg.Name }

// Identity is the user of the view.
func (f *FS) Identity() Identity { return f.user.id }

// Close ends the mount, for all views. Operations under way end with an error.
func (f *FS) Close() error {
	var err error
	f.closing.Do(func() {
		close(f.closed)
		if f.caller != nil {
			err = f.caller.Close()
		}
		f.lender.close(!f.ownEP)
		if f.ownEP {
			err = errors.Join(err, f.ep.Close())
		}
	})
	return err
}

// pick chooses one of the servers at random.
func (c *core) pick(servers []int) int {
	c.rngMu.Lock()
	defer c.rngMu.Unlock()
	return servers[c.rng.IntN(len(servers))]
}
