package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Config describes one server of a file system. FS, Alias and Store must be set.
type Config struct {
	FS    *config.Config
	Alias string
	Store *store.Store

	// Key signs capabilities. It has at least 16 bytes and is the same for all servers of the file system. Without it, a file
	// system of one server makes its own key. A server of several signs nothing then and believes the capabilities that it
	// receives, as stock servers do. It does not start without a key if the configuration has rules for clients, because any
	// client could evade them.
	Key []byte

	// Keystore has the public keys of clients, which must sign their credentials. nil: the server reads the file that KeyStore in
	// FS names. If FS names none, credentials need no signature.
	Keystore *credential.Keystore

	// Directory finds the users of certificates, if FS has a CAFile. nil: the directory that <LDAP> in FS names.
	Directory Directory

	// Identities say for which users each client may act. A client is known by its key in the keystore, its certificate or its
	// static key. nil: with a keystore, a client with a key may act for all users; without one, every client may.
	Identities *credential.Identities

	// Strict refuses a request for a flush, for extended attributes, or for the attributes of several objects if it carries no
	// capability. Stock clients send none with these.
	Strict bool

	// OtherUsers: the server will listen at addresses that every user of its machine can connect to (bmi.UserOpener). Several
	// servers without a key do not start then. With or without this field, the kernel names the user that runs a client of this
	// machine.
	OtherUsers bool

	// Trusted are the networks from which management operations are accepted, in the form that bmi.Endpoint.QueryAddrRange takes.
	// None: administrators may manage the server from anywhere. Every client in a named network may read the lists of objects,
	// users and counters; only administrators may change anything.
	Trusted []string

	RPC   rpc.ServerOptions // sizes and times of 0 become those of FS
	Calls rpc.Options       // to other servers; 0 as in RPC

	Seed  uint64           // of the random choice of servers for new files; 0: from the clock
	Clock func() time.Time // nil is time.Now
	Log   *slog.Logger     // nil discards
}

// Server is a file server. Its methods may be called by any goroutine.
type Server struct {
	cfg   Config
	fs    *config.Config
	me    int // index of this server in fs.Servers
	euid  uint32
	store *store.Store
	log   *slog.Logger
	clock func() time.Time
	began time.Time

	locks    locks
	waiters  atomic.Int32 // see enter
	removal  locks        // of directories that are being removed, by their handle
	keys     keys
	peers    peers
	admin    admin
	refusals *refusal.Counter
	rules    atomic.Pointer[rules]
	splits   splits
	trash    trash
	throttle *throttle
	scrub    scrub

	withdrawals withdrawals
	named       named
	wrote       wrote
	behind      sync.Map // issuers that warnOfClock has named

	next    atomic.Uint32 // turns through the servers for new files
	issued  atomic.Uint64 // certificates of users
	changes atomic.Uint64 // requests that changed something and succeeded
	untold  atomic.Int32  // notices that a background goroutine still has to deliver, see giveSurely

	ep    atomic.Pointer[bmi.Endpoint]
	calls atomic.Pointer[rpc.Server]
	work  sync.WaitGroup // background work
	stop  context.CancelFunc
	ctx   context.Context
	ready chan struct{}
}

// New makes a server. At the first start it makes the root directory, if this server owns it. ErrConfig: the configuration asks
// for protection that the server cannot give.
func New(cfg Config) (*Server, error) { return newServer(cfg, true) }

// MakeRoot makes the root directory in a new store as New would, if this server owns it. It needs no key.
func MakeRoot(cfg Config) error {
	_, err := newServer(cfg, false)
	return err
}

func newServer(cfg Config, serves bool) (*Server, error) {
	if cfg.FS == nil || cfg.Store == nil {
		return nil, errors.New("server: a Config needs FS and Store")
	}
	s := &Server{
		cfg: cfg, fs: cfg.FS, me: -1, euid: uint32(os.Geteuid()), store: cfg.Store, log: cfg.Log, clock: cfg.Clock,
		ready: make(chan struct{}), throttle: newThrottle(throttlePlaces()),
	}
	for i := range cfg.FS.Servers {
		if cfg.FS.Servers[i].Alias == cfg.Alias {
			s.me = i
		}
	}
	if s.me < 0 {
		return nil, fmt.Errorf("server: %q is no alias of the configuration", cfg.Alias)
	}
	s.fs = cfg.FS.ForServer(s.me)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.refusals = refusal.New(s.log, s.clock)
	s.began = s.clock()
	if s.cfg.Seed == 0 {
		s.cfg.Seed = uint64(s.began.UnixNano())
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if err := s.loadKeys(); err != nil {
		return nil, err
	}
	first := &rules{text: s.fs.Text, export: &s.fs.Export, security: &s.fs.Security, identities: cfg.Identities}
	if serves {
		if err := s.checkProtection(s.fs, cfg.Identities); err != nil {
			return nil, err
		}
		var err error
		if first.keys, err = s.loadKeystore(s.fs); err != nil {
			return nil, err
		}
		if first.certs, err = s.loadCertificates(s.fs, cfg.Identities); err != nil {
			return nil, err
		}
	}
	if serves {
		if err := s.keepRules(first); err != nil {
			return nil, fmt.Errorf("server: the rules of the run before: %w", err)
		}
	}
	s.rules.Store(first)
	if err := s.loadWithdrawals(); err != nil {
		return nil, fmt.Errorf("server: the rights that were withdrawn: %w", err)
	}
	if err := s.leavePools(); err != nil {
		return nil, fmt.Errorf("server: datafiles of other servers: %w", err)
	}
	if err := s.initAdmin(); err != nil {
		return nil, err
	}
	if err := s.makeRoot(); err != nil {
		return nil, fmt.Errorf("server: the root directory: %w", err)
	}
	return s, nil
}

// Serve answers requests that come to ep until ctx ends, then finishes those under way. It is called once.
func (s *Server) Serve(ctx context.Context, ep *bmi.Endpoint) error {
	running := s.Start(ep)
	defer running.Close()
	return running.Serve(ctx)
}

// Running is a server that has everything that it shows of itself (package internal/watch): its counters and its file system.
// Functions that tell or show somebody that a server serves take one, so they cannot be called too early.
type Running struct {
	s     *Server
	calls *rpc.Server
	hide  func()
}

// Start makes a server that listens at ep ready for Running.Serve. From now on it finishes or undoes the operations on several
// servers that an earlier run left incomplete, see Ready. It is called once; the caller must call Serve and Close.
func (s *Server) Start(ep *bmi.Endpoint) *Running {
	opt := s.cfg.RPC
	opt.FlowBufferSize = cmpOr(opt.FlowBufferSize, s.fs.FlowBufferSize)
	opt.FlowBuffers = cmpOr(opt.FlowBuffers, s.fs.FlowBuffers)
	opt.Brief, opt.Refusals = isBrief, s.refusals
	if opt.Log == nil {
		opt.Log = s.log
	}
	s.ep.Store(ep)
	s.openPeers(ep)
	calls := rpc.NewServer(ep, s.Handle, opt)
	s.calls.Store(calls)
	s.greetNeighbours()
	s.work.Go(s.recover)
	s.work.Go(s.sweepWithdrawals)
	return &Running{s, calls, sync.OnceFunc(s.source().Open())}
}

// Serve answers requests until ctx ends, then finishes those under way.
func (r *Running) Serve(ctx context.Context) error {
	s := r.s
	defer s.closePeers()
	err := r.calls.Serve(ctx)
	s.stop()
	s.work.Wait()
	s.rules.Load().certs.close()
	return err
}

// Close ends what the server shows of itself. It is called after Serve.
func (r *Running) Close() { r.hide() }

// Ready waits until every operation that an earlier run began is finished or undone, and the root directory is as the
// configuration says. Requests are answered before that.
func (s *Server) Ready(ctx context.Context) error {
	select {
	case <-s.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Handle carries out one request. The rpc.Server calls it.
func (s *Server) Handle(c *rpc.Call) {
	began := time.Now()
	q, op, err := s.prepare(c.Context(), c.Peer, c.Header, c.Request)
	if err != nil {
		c.Fail(err)
		return
	}
	defer s.ended(q, began)
	if op.flow != nil {
		if err = s.decide(q, op); err == nil {
			op.flow(s, q, c)
			return
		}
		s.failed(err)
		c.Fail(err)
		return
	}
	resp, err := s.run(q, op)
	if err != nil {
		s.failed(err)
		c.Fail(err)
		return
	}
	c.Reply(resp)
}

// ended counts a finished request.
func (s *Server) ended(q *query, began time.Time) {
	now := time.Now()
	s.throttle.ended(q.turn, now)
	s.admin.perf.took(q, now.Sub(began))
}

// Do carries out one request without a network. It refuses operations that move bytes in a flow.
func (s *Server) Do(ctx context.Context, peer bmi.Addr, h *proto.Header, req proto.Request) (proto.Response, error) {
	q, op, err := s.prepare(ctx, peer, h, req)
	if err != nil {
		return nil, err
	}
	if op.run == nil {
		return nil, proto.EOPNOTSUPP
	}
	return s.run(q, op)
}

// run carries out an operation that answers with one message.
func (s *Server) run(q *query, op *operation) (proto.Response, error) {
	resp, err := s.perform(q, op)
	if err == nil && op.changes != nil && op.changes(q.req) {
		s.changes.Add(1)
	}
	return resp, err
}

// perform carries out an operation, or one that is a part of another.
func (s *Server) perform(q *query, op *operation) (proto.Response, error) {
	if err := s.decide(q, op); err != nil {
		return nil, err
	}
	resp, err := op.run(s, q)
	if err == nil && q.narrowed != nil {
		s.withdraw(q.ctx, q.narrowed, q.narrowedOpen)
	}
	return resp, err
}

// isBrief reports whether an operation reads only a few records, which are usually in memory.
func isBrief(op proto.Op) bool {
	switch op {
	case proto.OpGetAttr, proto.OpLookupPath, proto.OpGetDirent, proto.OpGetEattr, proto.OpGetConfig, proto.OpStatFS:
		return true
	}
	return false
}

func cmpOr(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}
