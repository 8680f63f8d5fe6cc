package pvfsd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/sharedkey"
	"github.com/viaduct-hpc/viaduct/internal/units"
	"github.com/viaduct-hpc/viaduct/internal/watch/web"
)

type serveOptions struct {
	placeOptions
	create  bool
	keyFile string
	manage  []string
	strict  bool
	others  bool
	idFile  string
	log     program.Log
	quiet   bool
	workers int
	flows   int
	memory  int // bytes
	drain   time.Duration
	metrics string
	page    string
	slow    time.Duration
}

func (a *App) serveCommand() *cobra.Command {
	var opt serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a part of a file system until interrupted",
		Long: `Serve listens on all addresses that the configuration has for this server, and answers
clients and other servers. SIGINT and SIGTERM end it after the requests and transfers under way.
Those that take longer than --drain are cut off and logged. A second signal ends it at once. SIGHUP
reopens the log file and reads the rules for clients again: <ExportOptions>, TrustedNetwork,
TrustedPorts, KeyStore, CAFile and the settings for certificates in the configuration, the files
that these name, --identities, and keys and certificates of tcps; it logs what has changed. If there is an error in them, or if anything else
has changed, the server logs that and goes on with the old rules. SIGUSR1 writes statistics to the log: counts of completed work,
and of refusals by reason. They are also printed at the end.

The servers of a file system sign the rights of clients, so that clients cannot claim more. Several
servers need a common key for that, in a --key-file that only the servers can read: the one that genconfig made, or any
other of 32 bytes in hexadecimal digits or base64 (docs/reference/keys.md).
Without a key they believe every client, as stock servers do, and do not start
if the configuration has rules for clients (ReadOnly, RootSquash, AllSquash, TrustedPorts, KeyStore, CAFile).

This key does not authenticate users: a client names the user itself, and may name root.
TrustedNetwork, RootSquash and AllSquash of the configuration limit which clients are believed. With
KeyStore in the configuration, clients must authenticate, each with a key from pvfsd genkey. With
CAFile, users must authenticate, each with a certificate signed by this authority.

The file of --identities has lines of a client and its users: "node1 any", "node2 users" (all but
root), or "alice 1000:1000,27" (user 1000 with these groups). A client is the HOST of pvfsd genkey, the
common name of a certificate of tcps, the NAME of its key in VIADUCT_UDP_CLIENTS_FILE over via+udp, or
* for all other authenticated clients. With CAFile a client
is also the common name of a user's certificate; the line "alice 1000:1000,27" then maps it to that user.

With --other-users every user of this machine can use the addresses of via+shm. Otherwise only processes of
the server's own user and of root can. The kernel tells the server the user of each client. The client acts for that user, with
the user's groups, and needs no key. A line "uid:1000 users" of --identities lets user 1000 act for others. Unless the server runs
as root, its clients must set VIADUCT_SHM_TRUST=USER to trust its user, and root must make the folder of names (docs/reference/pvfs.md).

Addresses of via+udp and tcps need keys of their own: see VIADUCT_UDP_KEY_FILE,
VIADUCT_UDP_PRIVATE_KEY_FILE and VIADUCT_TLS_SECRET in docs/reference/keys.md.

` + exitHelp,
		Example: `  pvfsd serve --config fs.conf --dir /var/lib/pvfsd
  pvfsd serve --config fs.conf --alias io01 --key-file fs.key --log-file /var/log/pvfsd.log`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), opt) },
	}
	opt.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&opt.create, "create", false, "make the store if the folder is empty, as mkfs does")
	f.StringVar(&opt.keyFile, "key-file", "", "file with the key that all servers share")
	f.StringArrayVar(&opt.manage, "manage-from", nil,
		"addresses allowed to send management requests (patterns of the method, such as tcp://10.0.0.*); may be repeated. pvfs2-fsck, pvfs2-get-uid and pvfs2-perf-mon-example need it (default: all addresses, but only root)")
	f.StringVar(&opt.idFile, "identities", "", "file that says for which users each client may act, see below (default: a client with a key may act for all)")
	f.BoolVar(&opt.others, "other-users", false, "let all users of this machine connect over via+shm, see below")
	f.BoolVar(&opt.strict, "strict", false, "refuse flushes and reads of attributes without a capability; OrangeFS's own clients then do not work")
	opt.log.Flags(f, "info")
	opt.log.FileFlag(f)
	program.QuietFlag(f, &opt.quiet)
	f.StringVar(&opt.metrics, "metrics", "", "serve metrics for Prometheus at this place: "+web.Forms+" (default: what VIADUCT_METRICS says, docs/reference/metrics.md)")
	f.StringVar(&opt.page, "page", "", "serve a page for browsers that shows this server while it runs, and metrics, at such a place (docs/guides/watching.md)")
	program.DurationFlag(f, &opt.slow, "slow-request", 0, "log requests that take at least this long, one in 10s (0: none)")
	f.IntVar(&opt.workers, "workers", 0, "requests carried out at once (0: depends on the number of processors)")
	f.IntVar(&opt.flows, "flows", 0, "transfers of data at once (0: 64)")
	program.SizeFlag(f, &opt.memory, "flow-memory", 0, "memory of their buffers, such as 64MiB (default: 64MiB, or 1/32 of the machine's if that is less)")
	program.DurationFlag(f, &opt.drain, "drain", 0, "how long requests and transfers under way may take at the end before they are cut off (0: 10s)")
	program.TraceFlag(cmd, nil)
	program.Group(f, "Which server", "config", "fs-name", "alias", "dir", "create")
	program.Group(f, "Clients and their rights", "key-file", "manage-from", "identities", "other-users", "strict")
	program.Group(f, "Log and metrics", "log-level", "log-format", "log-file", "quiet", "metrics", "page", "slow-request", "trace")
	program.Group(f, "Limits", "workers", "flows", "flow-memory", "drain")
	return cmd
}

func (a *App) serve(ctx context.Context, opt serveOptions) (err error) {
	// From the first moment on, because both signals would end a process that does not handle them.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGUSR1)
	defer signal.Stop(signals)
	p, err := opt.find()
	if err != nil {
		return err
	}
	for what, n := range map[string]int{"workers": opt.workers, "flows": opt.flows, "drain": int(opt.drain), "slow-request": int(opt.slow)} {
		if n < 0 {
			return program.Usagef("--%s cannot be negative", what)
		}
	}
	r := newReloader(&opt, p.fs) // before the files are read: a later change is one for a reload
	key, err := readKey(opt.keyFile)
	if err != nil {
		return err
	}
	if opt.memory > 0 && opt.memory < 1<<20 {
		return program.Usagef("--flow-memory %s: give 1 MiB or more, with its unit", units.FormatBytes(int64(opt.memory)))
	}
	ids, err := opt.identities()
	if err != nil {
		return program.Usage(err)
	}
	log, logFile, err := opt.log.Open(a.Err, slog.LevelInfo)
	if err != nil {
		return err
	}
	defer logFile.Close()
	defer func() {
		if err != nil {
			logFile.Log(log, slog.LevelError, "ended by an error", "server", p.alias, "err", err)
		}
	}()
	managed, err := findManager(log)
	if err != nil {
		return err
	}
	shown, err := opt.watch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shown.stop()) }()
	if names := namesOf(ignored(p.fs, p.index)); names != "" {
		log.Info("keywords of the configuration that have no effect here", "keywords", names)
	}
	if err := p.needStore(opt.create); err != nil {
		return err
	}
	stOpts := p.options()
	stOpts.Log = log
	st, err := open(p.dir, stOpts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	addresses := p.fs.Servers[p.index].Addresses()
	var methods map[string]any
	if opt.others {
		if methods, err = openToUsers(addresses); err != nil {
			return err
		}
	}
	s, err := server.New(server.Config{
		FS: p.fs, Alias: p.alias, Store: st, Key: key, Trusted: opt.manage, Strict: opt.strict, Identities: ids, OtherUsers: opt.others, Log: log,
		RPC: rpc.ServerOptions{Workers: opt.workers, Flows: opt.flows, FlowMemory: opt.memory, DrainTime: opt.drain, Slow: opt.slow},
	})
	if err != nil {
		return err
	}
	complete := about.Hold() // viewers see the endpoint with its server
	defer complete()
	ep, err := bmi.Open(ctx, bmi.Config{Listen: addresses, Options: methods, Log: log})
	if err != nil {
		return fmt.Errorf("%s listens on %s: %w", p.alias, strings.Join(addresses, ", "), err)
	}
	defer func() { err = errors.Join(err, ep.Close()) }()
	r.keys = contentsOf(ep.KeyFiles())
	if err := checkPatterns(ep, opt.manage); err != nil {
		return err
	}
	p.warn(log, len(key) > 0, ids != nil)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running := s.Start(ep)
	defer running.Close()
	complete()
	shown.serve(running)
	leave, err := managed.attend(ctx, running, ep.Addresses())
	if err != nil {
		stop()
		return errors.Join(err, running.Serve(ctx))
	}
	if !opt.quiet {
		fmt.Fprintf(a.Err, "pvfsd: %s serves %s at %s\n", p.alias, p.fs.Name, strings.Join(ep.Addresses(), ", "))
		for _, text := range shown.texts {
			fmt.Fprintf(a.Err, "pvfsd: %s\n", text)
		}
	}
	logFile.Info(log, "serving", "server", p.alias, "file system", p.fs.Name, "addresses", strings.Join(ep.Addresses(), ", "), "shows", shown.texts)
	r.server, r.ep, r.log, r.file, r.managed = s, ep, log, logFile, managed
	obeyed := make(chan struct{})
	go func() {
		defer close(obeyed)
		r.obey(ctx, signals)
	}()
	err = running.Serve(ctx)
	interrupted := ctx.Err() != nil
	stop()
	<-obeyed
	err = errors.Join(err, leave(), shown.stop()) // before the server is hidden
	rows := s.Statistics()
	if interrupted && !opt.quiet {
		a.farewell(p.alias, rows)
	}
	logFile.Info(log, "statistics", fieldsOf(rows)...)
	logFile.Info(log, "stopped", "server", p.alias)
	return err
}

// warn logs the missing protections of the servers.
func (p *place) warn(log *slog.Logger, key, authenticates bool) {
	switch sec, e := &p.fs.Security, &p.fs.Export; {
	case !key && len(p.fs.Servers) > 1:
		log.Warn("nothing is signed: every client that reaches the servers can do anything; give all of them the same key with --key-file")
	case len(sec.TrustedNetworks) == 0 && len(e.AllSquash) == 0 && sec.KeyStore == "" && sec.CAFile == "" && !authenticates:
		log.Warn("clients are not authenticated and may name any user; KeyStore or TrustedNetwork in the configuration would limit that")
	}
}

// checkPatterns refuses address patterns that cannot match any client.
func checkPatterns(ep *bmi.Endpoint, patterns []string) error {
	for _, pattern := range patterns {
		scheme, _, ok := strings.Cut(pattern, "://")
		i := slices.IndexFunc(ep.Addresses(), func(a string) bool { return strings.HasPrefix(a, scheme+"://") })
		if !ok || i < 0 {
			return program.Usagef("--manage-from %s: begin with the method of an address of this server: %s", pattern, strings.Join(ep.Addresses(), ", "))
		}
		own, err := ep.Lookup(ep.Addresses()[i])
		if err != nil {
			return err
		}
		if _, err := ep.QueryAddrRange(own, pattern); err != nil {
			return program.Usage(fmt.Errorf("--manage-from %s: %w", pattern, err))
		}
	}
	return nil
}

// needStore makes sure that the folder has a store.
func (p *place) needStore(create bool) error {
	if !create {
		return mustExist(p.dir, "pvfsd mkfs makes one, or --create here")
	}
	if ok, err := exists(p.dir); err != nil || ok {
		return err
	}
	if err := empty(p.dir); err != nil {
		return err
	}
	return p.make()
}

// readKey reads the servers' common key. Others must not be able to read the file.
func readKey(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	key, err := sharedkey.Source{File: name}.Load()
	if err != nil {
		return nil, program.Usage(fmt.Errorf("--key-file: %w", err))
	}
	return key[:], nil
}
